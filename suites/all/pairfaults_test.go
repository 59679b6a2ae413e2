package all_test

func init() { faults = append(faults, pairFaults...) }

// Profiles that put a bar where the default one has none.
const (
	threePeers = "version: 1\naccess: {peers: 3}\n"
	ceilings   = "version: 1\nceilings: {load-ns: 1500, load-host-ns: 5000, copy-us: 3, flag-us: 5}\n"
	inAndOut   = "version: 1\nfloors: {all-to-one: 60, one-to-all: 60}\n"
)

// pairFaults are those of the checks of two GPUs and more.
var pairFaults = []fault{
	{spec: "access/nvml-agrees[gpu0->gpu1]", want: "fail sources-disagree", keys: "{kind: no-access, pair: [0, 1], both: true}"},
	{spec: "access/nvml-agrees[gpu0->gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 0, call: nvmlDeviceGetP2PStatus, return: 999}"},
	{spec: "access/disable-revokes[gpu0->gpu1]", want: "fail leaky-access", keys: "{kind: leaky-access, pair: [0, 1]}"},
	{spec: "access/enable-twice[gpu0->gpu1]", want: "fail bad-error", keys: "{kind: bad-error, pair: [0, 1], return: 999}"},
	{spec: "access/enable-twice[gpu0->gpu1]", want: "fail bad-error", keys: "{kind: bad-error, pair: [0, 1], return: 0}"},
	{spec: "access/enable-twice[gpu0->gpu1]", want: "fail bad-error", keys: "{kind: illegal-address, pair: [0, 1], engine: sm-read}"},
	{spec: "access/disable-twice[gpu0->gpu1]", want: "error blocked-by", keys: "{kind: context, gpu: 0, error: 46}"},
	{spec: "access/bad-flags[gpu0->gpu1]", want: "error blocked-by", keys: "{kind: context, gpu: 1, error: 46}"},
	{spec: "access/self[gpu1]", want: "error blocked-by", keys: "{kind: context, gpu: 1, error: 46}"},
	{spec: "access/simultaneous-peers[gpu1]", want: "fail too-many-peers", keys: "{kind: too-many-peers, limit: 2}", env: threePeers},
	{spec: "access/simultaneous-peers[gpu1]", want: "error enable-failed", keys: "{kind: enable-fails, pair: [1, 3], error: 999}"},
	{spec: "access/enable-cost[gpu0->gpu1]", want: "error enable-failed", keys: "{kind: enable-fails, pair: [0, 1], error: 999}"},

	{spec: "dereference/atomics[gpu0->gpu1]", want: "fail lost-update", keys: "{kind: lost-update, pair: [0, 1]}"},
	{spec: "dereference/vmm[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 1048575, bit: 7}"},
	{spec: "dereference/vmm[gpu0->gpu1]", want: "fail not-visible-to-owner", keys: "{kind: private-mirror, pair: [0, 1]}"},
	{spec: "dereference/pool[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-write, offset: 1048575, bit: 7}"},
	{spec: "dereference/pool[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: sm-read, offset: 4096}"},
	// What another pair left in the same buffer does not pass for what arrived.
	{spec: "dereference/pool[gpu0->gpu2]", also: "dereference/pool[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 2], engine: sm-read, offset: 4096}"},
	{spec: "dereference/ipc[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 1048575, bit: 7}"},
	{spec: "dereference/ipc[gpu0->gpu1]", want: "error blocked-by", keys: "{kind: compute-mode, gpu: 1, mode: exclusive-process}"},
	{spec: "dereference/ipc[gpu0->gpu1]", want: "fail not-visible-to-owner", keys: "{kind: stale, pair: [0, 1], engine: sm-write, offset: 4096}"},
	{spec: "dereference/ipc[gpu0->gpu1]", want: "error crash", keys: "{kind: crash, gpu: 1, engine: sm-write, signal: SEGV}"}, // of the owner's process
	{spec: "dereference/write[gpu0->gpu1]", want: "fail not-visible-to-owner", keys: "{kind: private-mirror, pair: [0, 1]}"},
	{spec: "transfer/first[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: private-mirror, pair: [0, 1]}"},
	{spec: "transfer/copy[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: private-mirror, pair: [0, 1]}"},

	{spec: "ordering/message-passing[gpu0->gpu1]", want: "fail forbidden-outcome", keys: "{kind: reordered, pair: [0, 1]}"},
	{spec: "ordering/store-buffering[gpu0-gpu1]", want: "fail forbidden-outcome", keys: "{kind: no-progress, pair: [1, 0]}"},
	// Of the two ways to lay out the test, in this one alone gpu0 loads from gpu1.
	{spec: "ordering/store-buffering[gpu0-gpu1]", want: "fail forbidden-outcome", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 262144, bit: 0}"},
	{spec: "ordering/load-buffering[gpu0-gpu1]", want: "fail forbidden-outcome", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 20, bit: 0}"},
	{spec: "ordering/flag-pingpong[gpu0-gpu1]", want: "fail no-progress", keys: "{kind: no-progress, pair: [0, 1]}"},
	{spec: "ordering/flag-pingpong[gpu0-gpu1]", want: "fail no-progress", keys: "{kind: invisible-until-exit, pair: [1, 0]}"},

	{spec: "transfer/copy-2d[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce, offset: 753664, bit: 1}"},
	{spec: "transfer/copy-2d[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, gpu: 1, offset: 66056, bit: 1}"}, // between two rows
	{spec: "transfer/copy-bidirectional[gpu0-gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [1, 0], engine: ce, offset: 1048575, bit: 1}"},
	{spec: "transfer/copy-bidirectional[gpu0-gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce, offset: 1048575, bit: 1}"},
	{spec: "transfer/copy-graph[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: ce, offset: 1044480}"},
	{spec: "transfer/copy-graph[gpu1->gpu2]", also: "transfer/copy-graph[gpu0->gpu2]", want: "fail data-mismatch", keys: "{kind: stale, pair: [1, 2], engine: ce, offset: 4096}"},
	{spec: "transfer/all-pairs", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [3, 1], engine: ce, offset: 1048575, bit: 1}"},

	{spec: "bandwidth/bidirectional-ce[gpu0-gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [1, 0], engine: ce, factor: 0.7, when: bidirectional}"},
	{spec: "bandwidth/bidirectional-ce[gpu0-gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [1, 0], engine: ce, offset: 1048575, bit: 1}"},
	{spec: "bandwidth/bidirectional-ce[gpu0-gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce, offset: 1048575, bit: 1}"},
	{spec: "bandwidth/bidirectional-sm[gpu0-gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [0, 1], engine: sm, factor: 0.5, when: bidirectional}"},
	{spec: "bandwidth/peer-beats-staged[gpu0->gpu1]", want: "fail slower-than-staged", keys: "{kind: staged-faster, pair: [0, 1], factor: 1.2}"},
	{spec: "bandwidth/concurrent", want: "fail contention", keys: "{kind: slow, pair: [2, 1], engine: ce, factor: 0.7, when: concurrent}"},
	{spec: "bandwidth/concurrent", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [2, 1], engine: ce, offset: 1048575, bit: 1}"},
	{spec: "bandwidth/concurrent", want: "pass", keys: "{kind: no-access, pair: [0, 1], both: true}"}, // the others are measured
	{spec: "bandwidth/all-to-one[gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [3, 1], engine: ce-write, offset: 1000000, bit: 1}"},
	{spec: "bandwidth/all-to-one[gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [3, 1], engine: ce-write, factor: 0.05, when: always}", env: inAndOut},
	{spec: "bandwidth/one-to-all[gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [3, 1], engine: ce-read, offset: 1000000, bit: 1}"},
	{spec: "bandwidth/one-to-all[gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [3, 1], engine: ce-read, factor: 0.05, when: always}", env: inAndOut},
	{spec: "bandwidth/host-bidirectional[gpu1]", want: "fail below-floor", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 3, width: 16}, loaded: {gen: 3, width: 16}}"},
	{spec: "bandwidth/host-bidirectional[gpu1]", want: "fail data-mismatch", node: pcie, keys: "{kind: corrupt, gpu: 1, offset: 262144, bit: 1}"},  // on its way down
	{spec: "bandwidth/host-bidirectional[gpu1]", want: "fail data-mismatch", node: pcie, keys: "{kind: corrupt, gpu: 1, offset: 1310720, bit: 1}"}, // and up
	{spec: "bandwidth/size-curve[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce, offset: 1048575, bit: 1}"},

	{spec: "latency/chase[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 0, bit: 7}"},
	{spec: "latency/chase[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: sm-read, offset: 524288}"},
	{spec: "latency/chase[gpu0->gpu1]", want: "error crash", keys: "{kind: crash, pair: [0, 1], engine: sm-read, signal: SEGV}"},
	{spec: "latency/chase-host[gpu1]", want: "error blocked-by", keys: "{kind: context, gpu: 1, error: 46}"},
	{spec: "latency/load[gpu0->gpu1]", want: "fail outlier", keys: "{kind: slow-latency, pair: [0, 1], factor: 1.7}"},
	{spec: "latency/load[gpu0->gpu1]", want: "fail above-ceiling", keys: "{kind: slow-latency, pair: [0, 1], factor: 2}", env: ceilings},
	{spec: "latency/load-host[gpu1]", want: "error blocked-by", keys: "{kind: context, gpu: 1, error: 46}"},
	{spec: "latency/copy[gpu0->gpu1]", want: "fail above-ceiling", keys: "{kind: slow-latency, pair: [0, 1], factor: 3}", env: ceilings},
	{spec: "latency/copy[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce, offset: 1000, bit: 1}"},
	{spec: "latency/flag[gpu0-gpu1]", want: "fail above-ceiling", keys: "{kind: slow-latency, pair: [0, 1], factor: 3}", env: ceilings},
	{spec: "latency/flag[gpu0-gpu1]", want: "fail no-progress", keys: "{kind: invisible-until-exit, pair: [0, 1]}"},
}
