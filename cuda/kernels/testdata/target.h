/* What kernels.cu needs of a CPU: the threads of a launch run one after the
   other, each as a block and a warp of its own, so each kernel's logic can be
   tested where there is no GPU. Threads of the CPU stand for different GPUs. */

#include <sched.h>
#include <time.h>

#define KERNEL static void
#define DEVICE static inline
#define SHARED static __thread
#define UNROLL
#define ISSUE_LOADS

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

static __thread u64 thread_number, thread_count;
#define THREAD thread_number
#define THREADS thread_count
#define BLOCK thread_number
#define BLOCK_THREAD 0u
#define BLOCK_THREADS 1u
enum { LANES = 1 };
#define LANE 0u

DEVICE void block_barrier(void) {}
DEVICE void warp_barrier(void) {}

DEVICE void atomic_add(u64 *p, u64 n) { *p += n; }
DEVICE void atomic_min(u64 *p, u64 n) { *p = n < *p ? n : *p; }
DEVICE void atomic_or(u64 *p, u64 n) { *p |= n; }
DEVICE void atomic_add_u32(u32 *p, u32 n) { __atomic_fetch_add(p, n, __ATOMIC_RELAXED); }
DEVICE void atomic_add_system(u64 *p, u64 n) { __atomic_fetch_add(p, n, __ATOMIC_RELAXED); }

DEVICE u64 nanotime(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

DEVICE u32 ticks(void) { return (u32)nanotime(); }

DEVICE u32 load_acquire_system(const u32 *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }

DEVICE u32 load_relaxed_system(const u32 *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
DEVICE u64 load_relaxed_system_u64(const u64 *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
DEVICE void store_relaxed_system(u32 *p, u32 v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }
DEVICE void store_release_system(u32 *p, u32 v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
DEVICE void fence_system(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
DEVICE void idle(void) { sched_yield(); }

#define fma32(x, a, b) ((x) * (a) + (b))

typedef struct {
	float v[256];
} factor, sum;

/* The value of a half precision number that is normal or zero. */
DEVICE float half_value(u16 h)
{
	if ((h & 0x7fff) == 0)
		return 0;
	float m = (float)(h % 1024 + 1024) / 1024;
	for (int e = h >> 10 & 31; e > 15; e--)
		m *= 2;
	for (int e = h >> 10 & 31; e < 15; e++)
		m /= 2;
	return h >> 15 ? -m : m;
}

DEVICE void load_left(factor *f, const u16 *tile)
{
	for (int i = 0; i < 256; i++)
		f->v[i] = half_value(tile[i]);
}
DEVICE void load_right(factor *f, const u16 *tile) { load_left(f, tile); }
DEVICE void store_sum(float *tile, const sum *s) { __builtin_memcpy(tile, s, sizeof(*s)); }
DEVICE void clear_sum(sum *s) { __builtin_memset(s, 0, sizeof(*s)); }

DEVICE void multiply_add(sum *s, const factor *a, const factor *b)
{
	for (int i = 0; i < 256; i++)
		for (int k = 0; k < 16; k++)
			s->v[i] += a->v[i / 16 * 16 + k] * b->v[k * 16 + i % 16];
}
