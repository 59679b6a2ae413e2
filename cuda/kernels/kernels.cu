/* The kernels of package kernels, whose doc comment states what they do. The
   text is both CUDA C++ (clang, device/target.h) and C (gcc, testdata/target.h), so
   that their logic is also tested where there is no GPU. */

#include <target.h>

typedef u64 pair __attribute__((vector_size(16), may_alias));

/* Independent accesses of one thread that are in flight together: HBM needs
   some 30 KB in flight on each SM. */
enum { FLIGHT = 4 };

#define GOLDEN 0x9e3779b97f4a7c15ull

/* Finaliser of splitmix64; word number k of a pattern is mix(seed + (k+1)*GOLDEN). */
DEVICE u64 mix(u64 z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

DEVICE u8 pattern_byte(u64 seed, u64 offset)
{
	return (u8)(mix(seed + (offset / 8 + 1) * GOLDEN) >> offset % 8 * 8);
}

/* Sixteen bytes of a pattern that begin shift bits into the word of state z. */
DEVICE pair pattern_pair(u64 z, u32 shift)
{
	u64 a = mix(z), b = mix(z + GOLDEN);
	if (shift != 0) {
		u64 c = mix(z + 2 * GOLDEN);
		a = a >> shift | b << (64 - shift);
		b = b >> shift | c << (64 - shift);
	}
	pair p = {a, b};
	return p;
}

/* A range of memory: head bytes up to the first multiple of an access's size,
   n accesses of that size, and the bytes from tail on. */
typedef struct {
	u64 head, n, tail;
} split;

DEVICE split split_at(const u8 *p, u64 bytes, u64 size)
{
	u64 head = -(u64)p & (size - 1);
	if (head > bytes)
		head = bytes;
	u64 n = (bytes - head) / size;
	split s = {head, n, head + n * size};
	return s;
}

/* fill_pairs and verify_pairs work on the accesses of a range whose pattern
   begins at an offset from its origin. Callers name a shift of 0 as a constant,
   so that the loop for it has no trace of the other. */
DEVICE void fill_pairs(pair *p, u64 n, u64 seed, u64 offset, u32 shift)
{
	u64 thread = THREAD, threads = THREADS;
	u64 z = seed + (offset / 8 + 2 * thread + 1) * GOLDEN, step = 2 * threads * GOLDEN;
	for (u64 i = thread; i < n; i += threads, z += step)
		p[i] = pattern_pair(z, shift);
}

KERNEL fill(u8 *p, u64 bytes, u64 seed, u64 origin)
{
	split s = split_at(p, bytes, sizeof(pair));
	u64 offset = origin + s.head;
	u32 shift = offset % 8 * 8;

	for (u64 i = THREAD; i < s.head; i += THREADS)
		p[i] = pattern_byte(seed, origin + i);
	if (shift == 0)
		fill_pairs((pair *)(p + s.head), s.n, seed, offset, 0);
	else
		fill_pairs((pair *)(p + s.head), s.n, seed, offset, shift);
	for (u64 i = s.tail + THREAD; i < bytes; i += THREADS)
		p[i] = pattern_byte(seed, origin + i);
}

/* What one thread found. */
typedef struct {
	u64 count, first;
} wrong;

/* Counts the bytes of the word at an offset whose difference is not zero. */
DEVICE void tally(wrong *w, u64 difference, u64 offset)
{
	const u64 low = 0x7f7f7f7f7f7f7f7full;
	/* The top bit of each byte: is any bit of it set? */
	u64 bytes = (((difference & low) + low) | difference) & ~low;
	if (bytes == 0)
		return;
	w->count += __builtin_popcountll(bytes);
	offset += __builtin_ctzll(bytes) / 8;
	if (offset < w->first)
		w->first = offset;
}

DEVICE void tally_pair(wrong *w, pair difference, u64 offset)
{
	tally(w, difference[0], offset);
	tally(w, difference[1], offset + 8);
}

DEVICE void verify_pairs(wrong *w, const pair *p, u64 n, u64 seed, u64 offset, u32 shift)
{
	u64 threads = THREADS, i = THREAD;
	u64 z = seed + (offset / 8 + 2 * i + 1) * GOLDEN, step = 2 * threads * GOLDEN;
	for (; i + (FLIGHT - 1) * threads < n; i += FLIGHT * threads) {
		pair difference[FLIGHT];
		u64 any = 0;
		UNROLL for (int j = 0; j < FLIGHT; j++)
			difference[j] = p[i + j * threads];
		ISSUE_LOADS;
		UNROLL for (int j = 0; j < FLIGHT; j++, z += step) {
			difference[j] ^= pattern_pair(z, shift);
			any |= difference[j][0] | difference[j][1];
		}
		if (any == 0)
			continue;
		UNROLL for (int j = 0; j < FLIGHT; j++)
			tally_pair(w, difference[j], offset + (i + j * threads) * sizeof(pair));
	}
	for (; i < n; i += threads, z += step)
		tally_pair(w, p[i] ^ pattern_pair(z, shift), offset + i * sizeof(pair));
}

KERNEL verify(const u8 *p, u64 bytes, u64 seed, u64 origin, u64 *result)
{
	split s = split_at(p, bytes, sizeof(pair));
	u64 offset = origin + s.head;
	u32 shift = offset % 8 * 8;
	wrong w = {0, ~0ull};

	for (u64 i = THREAD; i < s.head; i += THREADS)
		tally(&w, p[i] ^ pattern_byte(seed, origin + i), origin + i);
	if (shift == 0)
		verify_pairs(&w, (const pair *)(p + s.head), s.n, seed, offset, 0);
	else
		verify_pairs(&w, (const pair *)(p + s.head), s.n, seed, offset, shift);
	for (u64 i = s.tail + THREAD; i < bytes; i += THREADS)
		tally(&w, p[i] ^ pattern_byte(seed, origin + i), origin + i);

	if (w.count != 0) {
		atomic_add(&result[0], w.count);
		atomic_min(&result[1], w.first);
	}
}

/* A copy by accesses of one type, between addresses that it is aligned at alike. */
#define COPY_BY(type)                                                                \
	DEVICE void copy_by_##type(u8 *dst, const u8 *src, u64 bytes)                \
	{                                                                            \
		typedef type access __attribute__((may_alias));                      \
		split s = split_at(dst, bytes, sizeof(access));                      \
		access *to = (access *)(dst + s.head);                               \
		const access *from = (const access *)(src + s.head);                 \
		u64 threads = THREADS, i;                                            \
		for (i = THREAD; i < s.head; i += threads)                           \
			dst[i] = src[i];                                             \
		for (i = THREAD; i + (FLIGHT - 1) * threads < s.n; i += FLIGHT * threads) { \
			access v[FLIGHT];                                            \
			UNROLL for (int j = 0; j < FLIGHT; j++)                      \
				v[j] = from[i + j * threads];                        \
			UNROLL for (int j = 0; j < FLIGHT; j++)                      \
				to[i + j * threads] = v[j];                          \
		}                                                                    \
		for (; i < s.n; i += threads)                                        \
			to[i] = from[i];                                             \
		for (i = s.tail + THREAD; i < bytes; i += threads)                   \
			dst[i] = src[i];                                             \
	}

COPY_BY(pair)
COPY_BY(u64)
COPY_BY(u32)
COPY_BY(u16)
COPY_BY(u8)

KERNEL copy(u8 *dst, const u8 *src, u64 bytes)
{
	u64 apart = (u64)dst ^ (u64)src;
	if (apart % 16 == 0)
		copy_by_pair(dst, src, bytes);
	else if (apart % 8 == 0)
		copy_by_u64(dst, src, bytes);
	else if (apart % 4 == 0)
		copy_by_u32(dst, src, bytes);
	else if (apart % 2 == 0)
		copy_by_u16(dst, src, bytes);
	else
		copy_by_u8(dst, src, bytes);
}

KERNEL add(u64 *counter, u64 times)
{
	for (; times != 0; times--)
		atomic_add_system(counter, 1);
}

KERNEL gate(const u32 *flag, u64 nanoseconds)
{
	u64 start = nanotime();
	while (load_acquire_system(flag) == 0 && nanotime() - start < nanoseconds) {
	}
}

KERNEL load(u64 *out, u64 nanoseconds)
{
	enum { CHAINS = 8, ROUNDS = 256 };
	u64 start = nanotime(), rounds = 0;
	float x[CHAINS], a = 0.999f, b = 0.001f;
	/* The sums stay between 0 and 1, whatever the thread: no overflow, no
	   denormals, and nothing that the compiler could work out. */
	for (int j = 0; j < CHAINS; j++)
		x[j] = (float)((THREAD + j) % 1024 + 1) / 1024;
	do {
		for (int i = 0; i < ROUNDS; i++)
			for (int j = 0; j < CHAINS; j++)
				x[j] = fma32(x[j], a, b);
		rounds++;
	} while (nanotime() - start < nanoseconds);
	float sum = 0;
	for (int j = 0; j < CHAINS; j++)
		sum += x[j];
	/* A sum is never negative; that it is looked at keeps the work. */
	if (THREAD == 0 || sum < 0)
		*out = rounds;
}

#include "order.cu"
#include "pattern.cu"
#include "product.cu"
