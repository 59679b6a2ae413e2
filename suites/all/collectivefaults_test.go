package all_test

func init() { faults = append(faults, collectiveFaults...) }

// clique is a node with NCCL, and with memory for more than a MiB a rank.
const clique = "gpus: {count: 4, model: NVIDIA H200, memory: 64MiB}\nnvlink: {version: 4, switch: {links: 18}}\nenvironment: {nccl: true}\n"

// collectiveFaults are those of what GPUs do together.
var collectiveFaults = []fault{
	{spec: "collective/all-reduce", want: "fail below-floor", node: clique, keys: "{kind: slow, pair: [1, 2], engine: sm, factor: 0.5, when: always}"},
	{spec: "collective/all-reduce", want: "fail data-mismatch", node: clique, keys: "{kind: corrupt, pair: [3, 1], engine: sm, offset: 7340031, bit: 3}"},
	{spec: "collective/all-reduce", want: "error blocked-by", node: clique, keys: "{kind: compute-mode, gpu: 1, mode: exclusive-process}"},
	{spec: "collective/all-reduce", want: "error crash", node: clique, keys: "{kind: crash, pair: [1, 2], engine: sm, signal: SEGV}"}, // of the clique's process
	{spec: "collective/all-gather", want: "fail below-floor", node: clique, keys: "{kind: slow, pair: [2, 0], engine: sm, factor: 0.5, when: always}"},
	{spec: "collective/all-gather", want: "fail data-mismatch", node: clique, keys: "{kind: stale, pair: [1, 2], engine: sm, offset: 7335936}"},
	{spec: "collective/reduce-scatter", want: "fail below-floor", node: clique, keys: "{kind: slow, pair: [0, 3], engine: sm, factor: 0.5, when: always}"},
	{spec: "collective/reduce-scatter", want: "fail data-mismatch", node: clique, keys: "{kind: corrupt, pair: [0, 3], engine: sm, offset: 1835007, bit: 0}"},
	{spec: "collective/send-recv", want: "fail below-floor", node: clique, keys: "{kind: slow, pair: [3, 0], engine: sm, factor: 0.5, when: always}"},
	{spec: "collective/send-recv", want: "fail data-mismatch", node: clique, keys: "{kind: corrupt, pair: [0, 3], engine: sm, offset: 5, bit: 0}"}, // not its next
	{spec: "collective/p2p-speedup", want: "fail no-speedup", node: clique, keys: "{kind: slow, pair: [1, 2], engine: sm, factor: 0.03, when: always}"},
	{spec: "collective/p2p-speedup", want: "fail data-mismatch", node: clique, keys: "{kind: stale, pair: [1, 2], engine: sm, offset: 4096}"},
}
