/* What kernels.cu needs of a GPU. No CUDA toolkit is used: clang knows the
   attributes and registers by these names, and the rest is PTX. */

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static inline __attribute__((device, always_inline))

/* Memory of a block. */
#define SHARED static __attribute__((shared))

/* An array that such a loop indexes stays in registers. */
#define UNROLL _Pragma("unroll")

/* The loads above it are not put off until their values are needed. */
#define ISSUE_LOADS asm volatile("" ::: "memory")

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

/* This thread's number among all threads of the launch, and how many there are. */
#define THREAD ((u64)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#define THREADS ((u64)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x())

/* The same of a thread's block, and of blocks. */
#define BLOCK_THREAD __nvvm_read_ptx_sreg_tid_x()
#define BLOCK_THREADS __nvvm_read_ptx_sreg_ntid_x()
#define BLOCK __nvvm_read_ptx_sreg_ctaid_x()

/* Threads that work in step, and this one's number among them. */
enum { LANES = 32 };
#define LANE (BLOCK_THREAD % LANES)

DEVICE void block_barrier(void) { __nvvm_bar_sync(0); }
DEVICE void warp_barrier(void) { __nvvm_bar_warp_sync(~0u); }

DEVICE void atomic_add(u64 *p, u64 n) { asm volatile("red.global.add.u64 [%0], %1;" ::"l"(p), "l"(n) : "memory"); }
DEVICE void atomic_min(u64 *p, u64 n) { asm volatile("red.global.min.u64 [%0], %1;" ::"l"(p), "l"(n) : "memory"); }

DEVICE void atomic_or(u64 *p, u64 n) { asm volatile("red.global.or.b64 [%0], %1;" ::"l"(p), "l"(n) : "memory"); }
DEVICE void atomic_add_u32(u32 *p, u32 n) { asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(n) : "memory"); }

/* Atomic also towards other GPUs and the host. */
DEVICE void atomic_add_system(u64 *p, u64 n)
{
	asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(p), "l"(n) : "memory");
}

/* Nanoseconds of a clock that runs while nothing else does; it may advance in
   steps of a microsecond. */
DEVICE u64 nanotime(void)
{
	u64 t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

/* Clock cycles of this SM; wraps. */
DEVICE u32 ticks(void) { return __nvvm_read_ptx_sreg_clock(); }

/* Sees what the host or another GPU stored, and all that it stored before. */
DEVICE u32 load_acquire_system(const u32 *p)
{
	u32 v;
	asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

/* Orders nothing else, but goes to where the memory is. */
DEVICE u32 load_relaxed_system(const u32 *p)
{
	u32 v;
	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

DEVICE u64 load_relaxed_system_u64(const u64 *p)
{
	u64 v;
	asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

DEVICE void store_relaxed_system(u32 *p, u32 v)
{
	asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/* Whoever sees it by an acquiring load sees all that this thread saw and stored before. */
DEVICE void store_release_system(u32 *p, u32 v)
{
	asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/* Of two threads that pass one each, the later one sees what the earlier stored before. */
DEVICE void fence_system(void) { asm volatile("fence.sc.sys;" ::: "memory"); }

/* A thread that waits has nothing to give up to others. */
DEVICE void idle(void) {}

#define fma32 __builtin_fmaf

/* Tiles of 16 rows of 16 numbers, spread over the registers of a warp's lanes:
   half precision factors and single precision sums. */
typedef struct {
	int v[8];
} factor;

typedef struct {
	float v[8];
} sum;

DEVICE void load_left(factor *f, const u16 *tile) { __hmma_m16n16k16_ld_a(f->v, (const int *)tile, 16, 0); }
DEVICE void load_right(factor *f, const u16 *tile) { __hmma_m16n16k16_ld_b(f->v, (const int *)tile, 16, 0); }
DEVICE void store_sum(float *tile, const sum *s) { __hmma_m16n16k16_st_c_f32(tile, s->v, 16, 0); }

/* s += a * b */
DEVICE void multiply_add(sum *s, const factor *a, const factor *b)
{
	__hmma_m16n16k16_mma_f32f32(s->v, a->v, b->v, s->v, 0, 0);
}

DEVICE void clear_sum(sum *s)
{
	UNROLL for (int i = 0; i < 8; i++)
		s->v[i] = 0;
}
