/* Part of kernels.cu: floating point work whose results are integers, so that
   they are exact and any wrong bit shows. */

/* x becomes (A*x + C) mod MODULUS, a prime, over and over: what a wrong bit
   changes, no later step changes back. A*x stays below 1<<23, where single
   precision has all integers. */
enum { MODULUS = 4093 };

typedef struct {
	u32 a, c;
} step;

DEVICE step product_step(u64 seed)
{
	step s = {2 + (u32)(mix(seed) % 2000), (u32)(mix(seed + GOLDEN) % MODULUS)};
	return s;
}

DEVICE u32 product_start(u64 seed, u64 number) { return (u32)(mix(seed + (number + 2) * GOLDEN) % MODULUS); }

/* So many steps as one. */
DEVICE step repeat(step s, u64 times)
{
	step r = {1, 0};
	for (; times != 0; times >>= 1) {
		if (times & 1) {
			r.a = s.a * r.a % MODULUS;
			r.c = (s.a * r.c + s.c) % MODULUS;
		}
		s.c = (s.a * s.c + s.c) % MODULUS;
		s.a = s.a * s.a % MODULUS;
	}
	return r;
}

DEVICE void product_fp32(u64 rounds, u64 seed, u64 reference, u64 *out)
{
	enum { CHAINS = 8 };
	/* What is added to and taken from a small number rounds it to an integer. */
	const float ROUND = 3 << 22, m = MODULUS, inverse = 1.0f / MODULUS;
	step s = product_step(seed);
	float x[CHAINS], a = (float)s.a, c = (float)s.c;
	UNROLL for (int j = 0; j < CHAINS; j++)
		x[j] = (float)((int)product_start(seed, THREAD * CHAINS + j) - MODULUS / 2);
	for (u64 i = 0; i < rounds; i++)
		UNROLL for (int j = 0; j < CHAINS; j++) {
			float y = fma32(x[j], a, c);
			float q = fma32(y, inverse, ROUND) - ROUND;
			x[j] = fma32(q, -m, y);
		}
	step all = repeat(product_step(reference), rounds);
	u64 wrong = 0;
	UNROLL for (int j = 0; j < CHAINS; j++) {
		/* The start was shifted to be around zero. */
		u32 start = (product_start(reference, THREAD * CHAINS + j) + MODULUS - MODULUS / 2) % MODULUS;
		u32 want = (all.a * start + all.c) % MODULUS;
		u32 got = (u32)(((int)x[j] % MODULUS + MODULUS) % MODULUS);
		wrong += got != want;
	}
	if (wrong != 0)
		atomic_add(&out[0], wrong);
	atomic_add(&out[1], CHAINS);
}

enum { SIDE = 16, TILE = SIDE * SIDE, WARPS = 8 };

/* Factor number number of a tile, -4 to 3. */
DEVICE int tile_factor(u64 key, u32 number) { return (int)(mix(key + (number + 1) * GOLDEN) >> 61) - 4; }

/* An integer, of 11 bits or less, as a half precision number. */
DEVICE u16 half_of(int n)
{
	if (n == 0)
		return 0;
	u32 magnitude = n < 0 ? -n : n, e = 31 - __builtin_clz(magnitude);
	return (u16)((n < 0 ? 0x8000 : 0) | (e + 15) << 10 | (magnitude << (10 - e) & 1023));
}

typedef struct {
	u16 left[2][TILE], right[2][TILE];
	float sum[TILE];
} workspace;

/* Two left and two right tiles in all four products, so many times each. */
DEVICE void product_tensor(u64 rounds, u64 seed, u64 reference, u64 *out)
{
	/* No sum passes 1<<20 in the rounds before it is compared; single
	   precision has the integers up to 1<<24. */
	enum { MOST = 4096 };
	SHARED workspace spaces[WARPS] __attribute__((aligned(32)));
	if (BLOCK_THREAD / LANES >= WARPS)
		return;
	workspace *w = &spaces[BLOCK_THREAD / LANES];
	u64 wrong = 0, checked = 0, warp = mix(THREAD / LANES);
	for (u64 done = 0; done < rounds; done += MOST) {
		u32 n = rounds - done < MOST ? (u32)(rounds - done) : MOST;
		u64 key = mix(seed + warp + done), answer = mix(reference + warp + done);
		for (u32 e = LANE; e < 2 * TILE; e += LANES) {
			w->left[e / TILE][e % TILE] = half_of(tile_factor(key, e));
			w->right[e / TILE][e % TILE] = half_of(tile_factor(key, 2 * TILE + e));
		}
		warp_barrier();
		factor left[2], right[2];
		sum s[4];
		UNROLL for (int t = 0; t < 2; t++) {
			load_left(&left[t], w->left[t]);
			load_right(&right[t], w->right[t]);
		}
		UNROLL for (int t = 0; t < 4; t++)
			clear_sum(&s[t]);
		for (u32 i = 0; i < n; i++)
			UNROLL for (int t = 0; t < 4; t++)
				multiply_add(&s[t], &left[t / 2], &right[t % 2]);
		UNROLL for (u32 t = 0; t < 4; t++) {
			warp_barrier();
			store_sum(w->sum, &s[t]);
			warp_barrier();
			for (u32 e = LANE; e < TILE; e += LANES) {
				int want = 0;
				for (u32 k = 0; k < SIDE; k++)
					want += tile_factor(answer, t / 2 * TILE + e / SIDE * SIDE + k) *
						tile_factor(answer, (2 + t % 2) * TILE + k * SIDE + e % SIDE);
				wrong += w->sum[e] != (float)want * (float)n;
				checked++;
			}
		}
		warp_barrier();
	}
	if (wrong != 0)
		atomic_add(&out[0], wrong);
	atomic_add(&out[1], checked);
}

KERNEL product(u64 kind, u64 rounds, u64 seed, u64 reference, u64 *out)
{
	if (kind == 0)
		product_fp32(rounds, seed, reference, out);
	else
		product_tensor(rounds, seed, reference, out);
}
