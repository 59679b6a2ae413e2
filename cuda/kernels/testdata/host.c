/* A launch of each kernel with so many threads, for the tests of package kernels. */

#include "../kernels.cu"

#define LAUNCH(threads, call) \
	for (thread_count = threads, thread_number = 0; thread_number < thread_count; thread_number++) \
		call

void host_fill(u64 threads, void *p, u64 bytes, u64 seed, u64 origin) { LAUNCH(threads, fill(p, bytes, seed, origin)); }
void host_verify(u64 threads, void *p, u64 bytes, u64 seed, u64 origin, void *result)
{
	LAUNCH(threads, verify(p, bytes, seed, origin, result));
}
void host_copy(u64 threads, void *dst, void *src, u64 bytes) { LAUNCH(threads, copy(dst, src, bytes)); }
void host_gate(void *flag, u64 nanoseconds) { LAUNCH(1, gate(flag, nanoseconds)); }
void host_load(u64 threads, void *out, u64 nanoseconds) { LAUNCH(threads, load(out, nanoseconds)); }
void host_add(u64 threads, void *counter, u64 times) { LAUNCH(threads, add(counter, times)); }
void host_chain(u64 threads, void *p, u64 count, u64 stride, u64 seed) { LAUNCH(threads, chain(p, count, stride, seed)); }
void host_chase(void *p, u64 steps, void *out) { LAUNCH(1, chase((u64)p, steps, out)); }
void host_pattern(u64 threads, void *p, u64 bytes, u64 kind, u64 seed)
{
	LAUNCH(threads, pattern(p, bytes, kind, seed));
}
void host_check(u64 threads, void *p, u64 bytes, u64 kind, u64 seed, void *result)
{
	LAUNCH(threads, check(p, bytes, kind, seed, result));
}
void host_product(u64 threads, u64 kind, u64 rounds, u64 seed, u64 reference, void *out)
{
	LAUNCH(threads, product(kind, rounds, seed, reference, out));
}

/* These wait for one another, so each call is one block only: a thread of the
   CPU for each. */
void host_pingpong(void *store, void *load, u64 rounds, u64 first, u64 nanoseconds, void *result, void *mine, void *other)
{
	LAUNCH(1, pingpong(store, load, rounds, first, nanoseconds, result, mine, other));
}
void host_litmus(u64 block, u64 blocks, u64 mode, void *x, void *y, u64 rounds, void *out, void *mine, void *other,
		 u64 nanoseconds)
{
	thread_count = blocks;
	thread_number = block;
	litmus(mode, x, y, rounds, out, mine, other, nanoseconds);
}
