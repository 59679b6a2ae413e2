/* Part of kernels.cu: dependent loads, and two GPUs that watch each other. */

KERNEL chain(u8 *p, u64 count, u64 stride, u64 seed)
{
	u64 a = (mix(seed + GOLDEN) & ~3ull) | 1, c = mix(seed + 2 * GOLDEN) | 1;
	for (u64 i = THREAD; i < count; i += THREADS)
		*(u64 *)(p + i * stride) = (u64)p + ((a * i + c) & (count - 1)) * stride;
}

KERNEL chase(u64 p, u64 steps, u64 *out)
{
	for (; steps != 0; steps--)
		p = load_relaxed_system_u64((const u64 *)p);
	*out = p;
}

/* An end to waiting. The clock is far slower to read than a flag nearby, so it
   is looked at now and then. */
typedef struct {
	u64 start, nanoseconds, looks;
} patience;

DEVICE u8 over(patience *p)
{
	enum { LOOKS = 16 };
	idle();
	return ++p->looks % LOOKS == 0 && nanotime() - p->start >= p->nanoseconds;
}

/* Tells the other side that this one has come to a step, and waits until the
   other has. Relaxed: a meeting must not put in order what is being tested. */
DEVICE u8 meet(u32 *mine, const u32 *other, u32 step, patience *p)
{
	store_relaxed_system(mine, step);
	while (load_relaxed_system(other) < step)
		if (over(p))
			return 0;
	return 1;
}

DEVICE u8 await(const u32 *flag, u32 value, patience *p)
{
	while (load_acquire_system(flag) != value)
		if (over(p))
			return 0;
	return 1;
}

KERNEL pingpong(u32 *store_flag, const u32 *load_flag, u64 rounds, u64 first, u64 nanoseconds, u64 *result, u32 *ready_mine,
		const u32 *ready_other)
{
	patience p = {nanotime(), nanoseconds, 0};
	u64 met = meet(ready_mine, ready_other, 1, &p), done = 0;
	u64 begin = nanotime();
	for (; met && done < rounds; done++) {
		u32 i = (u32)done + 1;
		if (first)
			store_release_system(store_flag, i);
		if (!await(load_flag, i, &p))
			break;
		if (!first)
			store_release_system(store_flag, i);
	}
	result[0] = done;
	result[1] = nanotime() - begin;
	result[2] = met;
}

enum { MESSAGE_PASSING, STORE_BUFFERING, LOAD_BUFFERING };

/* One side of one round of a test: what it saw. Side 0 begins at x, side 1 at y. */
DEVICE u32 litmus_round(u32 test, u32 side, u32 relaxed, u32 *x, u32 *y)
{
	u32 *near = side == 0 ? x : y, *far = side == 0 ? y : x, flag;
	switch (test) {
	case MESSAGE_PASSING:
		if (side == 0) {
			store_relaxed_system(x, 1);
			if (relaxed)
				store_relaxed_system(y, 1);
			else
				store_release_system(y, 1);
			return 0;
		}
		flag = relaxed ? load_relaxed_system(y) : load_acquire_system(y);
		return flag | load_relaxed_system(x) << 1;
	case STORE_BUFFERING:
		store_relaxed_system(near, 1);
		if (!relaxed)
			fence_system();
		return load_relaxed_system(far);
	default:
		if (relaxed) {
			flag = load_relaxed_system(near);
			store_relaxed_system(far, 1);
		} else {
			flag = load_acquire_system(near);
			store_release_system(far, 1);
		}
		return flag;
	}
}

KERNEL litmus(u64 mode, u32 *x, u32 *y, u64 rounds, u32 *out, u32 *ready_mine, const u32 *ready_other, u64 nanoseconds)
{
	enum { STAGGER = 4096 };
	patience p = {nanotime(), nanoseconds, 0};
	u32 test = mode & 255, side = mode >> 8 & 255, relaxed = mode >> 16 & 255, step = 0, together = 0;
	u8 met = 1;
	for (u64 base = (u64)BLOCK * BLOCK_THREADS; base < rounds; base += THREADS) {
		u64 i = base + BLOCK_THREAD;
		/* Once the other side has not come, it is not waited for again. */
		if (BLOCK_THREAD == 0 && met) {
			met = meet(ready_mine + BLOCK, ready_other + BLOCK, ++step, &p);
			if (met)
				together += rounds - base < BLOCK_THREADS ? (u32)(rounds - base) : BLOCK_THREADS;
		}
		block_barrier();
		/* Whatever the way of the flags adds to one side's start, some
		   rounds of the two fall together: each warp waits a different
		   time, up to about two microseconds. */
		u32 from = ticks(), wait = mix(i / LANES * 2 + side) % STAGGER;
		while (ticks() - from < wait) {
		}
		if (i < rounds)
			out[i] = litmus_round(test, side, relaxed, x + i, y + i);
	}
	if (BLOCK_THREAD == 0)
		atomic_add_u32(out + rounds, together);
}
