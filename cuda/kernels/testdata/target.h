/* What kernels.cu needs of a CPU: the threads of a launch run one after the
   other, so each kernel's logic can be tested where there is no GPU. */

#include <time.h>

#define KERNEL static void
#define DEVICE static inline
#define UNROLL
#define ISSUE_LOADS

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

static u64 thread_number, thread_count;
#define THREAD thread_number
#define THREADS thread_count

DEVICE void atomic_add(u64 *p, u64 n) { *p += n; }
DEVICE void atomic_min(u64 *p, u64 n) { *p = n < *p ? n : *p; }

DEVICE u64 nanotime(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

DEVICE u32 load_acquire_system(const u32 *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }

#define fma32(x, a, b) ((x) * (a) + (b))
