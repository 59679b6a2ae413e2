/* Part of kernels.cu: memory test patterns. */

enum { ADDRESS, CHECKERBOARD, INVERSE, WALKING_ONES, WALKING_ZEROS, RANDOM };

/* The word with a number, at an address, of a pattern. */
DEVICE u64 test_word(u32 kind, u64 seed, u64 address, u64 number)
{
	switch (kind) {
	case ADDRESS:
		return address;
	case CHECKERBOARD:
		return 0x5555555555555555ull;
	case INVERSE:
		return 0xaaaaaaaaaaaaaaaaull;
	case WALKING_ONES:
		return 1ull << (number + seed) % 64;
	case WALKING_ZEROS:
		return ~(1ull << (number + seed) % 64);
	default:
		return mix(seed + (number + 1) * GOLDEN);
	}
}

DEVICE pair test_pair(u32 kind, u64 seed, const pair *p, u64 i)
{
	u64 address = (u64)(p + i);
	pair w = {test_word(kind, seed, address, 2 * i), test_word(kind, seed, address + 8, 2 * i + 1)};
	return w;
}

/* Calls with the kind as a constant, so that the loop has no trace of others. */
#define FOR_KIND(call)                   \
	switch (kind) {                  \
	case ADDRESS:                    \
		call(ADDRESS);           \
		break;                   \
	case CHECKERBOARD:               \
		call(CHECKERBOARD);      \
		break;                   \
	case INVERSE:                    \
		call(INVERSE);           \
		break;                   \
	case WALKING_ONES:               \
		call(WALKING_ONES);      \
		break;                   \
	case WALKING_ZEROS:              \
		call(WALKING_ZEROS);     \
		break;                   \
	default:                         \
		call(RANDOM);            \
	}

DEVICE void write_pairs(u32 kind, pair *p, u64 n, u64 seed)
{
	for (u64 i = THREAD; i < n; i += THREADS)
		p[i] = test_pair(kind, seed, p, i);
}

KERNEL pattern(u64 *p, u64 bytes, u64 kind, u64 seed)
{
	u64 n = bytes / sizeof(pair);
#define WRITE(k) write_pairs(k, (pair *)p, n, seed)
	FOR_KIND(WRITE)
	if (THREAD == 0 && bytes % sizeof(pair) != 0)
		p[2 * n] = test_word((u32)kind, seed, (u64)(p + 2 * n), 2 * n);
}

/* What one thread found. */
typedef struct {
	u64 count, first, flipped;
} errors;

DEVICE void note(errors *e, u64 difference, u64 number)
{
	if (difference == 0)
		return;
	e->count++;
	e->flipped |= difference;
	if (number * 8 < e->first)
		e->first = number * 8;
}

DEVICE void note_pair(errors *e, pair difference, u64 i)
{
	note(e, difference[0], 2 * i);
	note(e, difference[1], 2 * i + 1);
}

DEVICE void check_pairs(u32 kind, errors *e, const pair *p, u64 n, u64 seed)
{
	u64 threads = THREADS, i = THREAD;
	for (; i + (FLIGHT - 1) * threads < n; i += FLIGHT * threads) {
		pair difference[FLIGHT];
		u64 any = 0;
		UNROLL for (int j = 0; j < FLIGHT; j++)
			difference[j] = p[i + j * threads];
		ISSUE_LOADS;
		UNROLL for (int j = 0; j < FLIGHT; j++) {
			difference[j] ^= test_pair(kind, seed, p, i + j * threads);
			any |= difference[j][0] | difference[j][1];
		}
		if (any == 0)
			continue;
		UNROLL for (int j = 0; j < FLIGHT; j++)
			note_pair(e, difference[j], i + j * threads);
	}
	for (; i < n; i += threads)
		note_pair(e, p[i] ^ test_pair(kind, seed, p, i), i);
}

KERNEL check(const u64 *p, u64 bytes, u64 kind, u64 seed, u64 *result)
{
	u64 n = bytes / sizeof(pair);
	errors e = {0, ~0ull, 0};
#define CHECK(k) check_pairs(k, &e, (const pair *)p, n, seed)
	FOR_KIND(CHECK)
	if (THREAD == 0 && bytes % sizeof(pair) != 0)
		note(&e, p[2 * n] ^ test_word((u32)kind, seed, (u64)(p + 2 * n), 2 * n), 2 * n);

	if (e.count != 0) {
		atomic_add(&result[0], e.count);
		atomic_min(&result[1], e.first);
		atomic_or(&result[2], e.flipped);
	}
}
