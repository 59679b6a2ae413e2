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
