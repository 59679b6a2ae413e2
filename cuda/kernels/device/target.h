/* What kernels.cu needs of a GPU. No CUDA toolkit is used: clang knows the
   attributes and registers by these names, and the rest is PTX. */

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static inline __attribute__((device, always_inline))

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

DEVICE void atomic_add(u64 *p, u64 n) { asm volatile("red.global.add.u64 [%0], %1;" ::"l"(p), "l"(n) : "memory"); }
DEVICE void atomic_min(u64 *p, u64 n) { asm volatile("red.global.min.u64 [%0], %1;" ::"l"(p), "l"(n) : "memory"); }

/* Nanoseconds of a clock that runs while nothing else does; it may advance in
   steps of a microsecond. */
DEVICE u64 nanotime(void)
{
	u64 t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

/* Sees what the host or another GPU stored, and all that it stored before. */
DEVICE u32 load_acquire_system(const u32 *p)
{
	u32 v;
	asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

#define fma32 __builtin_fmaf
