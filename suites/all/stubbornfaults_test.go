package all_test

func init() { faults = append(faults, stubborn...) }

// stubborn are the faults that a check misses when it forgives what an earlier
// one left, looks at one GPU of several, or takes the first of equals.
var stubborn = []fault{
	// What an earlier check left in the same buffer does not pass for what arrived.
	{spec: "bandwidth/read-sm[gpu0->gpu1]", also: "bandwidth/read-ce[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: sm-read, offset: 4096}"},
	{spec: "bandwidth/write-sm[gpu0->gpu1]", also: "bandwidth/write-ce[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: sm-write, offset: 4096}"},
	{spec: "bandwidth/bidirectional-sm[gpu0-gpu1]", also: "bandwidth/bidirectional-ce[gpu0-gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [1, 0], engine: sm, offset: 4096}"},
	{spec: "bandwidth/concurrent", also: "transfer/all-pairs", want: "fail data-mismatch", keys: "{kind: stale, pair: [1, 0], engine: ce, offset: 4096}"},
	{spec: "transfer/copy-bidirectional[gpu0-gpu1]", also: "transfer/copy[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [1, 0], engine: ce, offset: 4096}"},
	{spec: "bandwidth/size-curve[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: ce, offset: 0}"},
	{spec: "latency/copy[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: ce, offset: 0}"},
	{spec: "transfer/staged[gpu0->gpu1]", also: "transfer/copy[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: ce, offset: 4096}"},

	// The first and the last GPU are compared too.
	{spec: "inventory/identity[gpu0]", want: "fail duplicate-identity", keys: `{kind: identity, gpu: 3, uuid: GPU-d9a04077-026f-4ff2-a471-457d39a1096d}`},
	{spec: "inventory/model[gpu3]", want: "fail wrong-model", keys: "{kind: firmware, gpu: 3, vbios: 96.00.AA.00.01}", env: "version: 1\ngpus: {vbios: 96.00.99.00.01}\n", green: "fail wrong-model"},
	{spec: "inventory/topology[gpu0-gpu1]", want: "fail wrong-path", node: pcie, keys: "numa: [1, 0]", env: numa},
	{spec: "inventory/iommu-acs", want: "fail acs-redirect", node: pcie, keys: "environment: {acs-redirect: [0]}"},
	{spec: "inventory/gpu-count", want: "fail missing-gpu", keys: "{kind: missing, gpu: 0}"},

	// Two against two has no odd one out; three models are compared each with its own.
	{spec: "inventory/same-firmware", want: "fail mixed-firmware", keys: "{kind: firmware, gpu: 2, vbios: 96.00.AA.00.01}\n  - {kind: firmware, gpu: 3, vbios: 96.00.AA.00.01}"},
	{spec: "inventory/same-firmware", want: "fail mixed-firmware", keys: "{kind: firmware, gpu: 1, vbios: 96.00.AA.00.01}\n  - {kind: firmware, gpu: 2, vbios: 96.00.AA.00.02}\n  - {kind: firmware, gpu: 3, vbios: 96.00.AA.00.03}"},

	// A hint names every link and bridge at fault, and a copy as slow as one through the host is told as that.
	{spec: "bandwidth/read-ce[gpu1->gpu0]", want: "fail below-floor", keys: "{kind: links-down, gpu: 0, links: [0, 5, 6, 7, 8, 17]}\n  - {kind: slow, pair: [1, 0], engine: ce-read, factor: 0.6, when: always}"},
	{spec: "bandwidth/read-ce[gpu0->gpu1]", also: "transfer/staged[gpu0->gpu1]", want: "fail no-p2p-path", keys: "{kind: slow, pair: [0, 1], engine: ce-read, factor: 0.06, when: always}"},
	{spec: "transfer/copy[gpu1->gpu0]", want: "fail data-mismatch", node: pcie, keys: "{kind: corrupt, pair: [1, 0], engine: ce, offset: 3, bit: 1}\npcie-switches: [[0, 1]]\nenvironment: {acs-redirect: [0, 1]}"},
	{spec: "inventory/iommu-acs", want: "fail acs-redirect", node: pcie, keys: "pcie-switches: [[0, 1]]\nenvironment: {acs-redirect: [1]}"},

	// No hint names a bridge whose redirection changes no way: both GPUs are below root ports of their own.
	{spec: "transfer/copy[gpu1->gpu0]", want: "fail data-mismatch", node: pcie, keys: "{kind: corrupt, pair: [1, 0], engine: ce, offset: 3, bit: 1}\nenvironment: {acs-redirect: [0, 1]}"},

	// The link that a hint names is the loaded one, not the idle one.
	{spec: "bandwidth/host-to-device[gpu1]", want: "fail below-floor", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 1, width: 8}, loaded: {gen: 4, width: 8}}"},
	{spec: "bandwidth/read-ce[gpu1->gpu0]", want: "fail below-floor", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 1, width: 8}, loaded: {gen: 4, width: 8}}"},

	{spec: "memory/remapped-rows[gpu1]", want: "fail remap-pending", keys: "{kind: remap, gpu: 1, pending: true, completed: 3}"},
	{spec: "health/xid[gpu1]", also: "bandwidth/local or inventory/busy", want: "fail xid", keys: "{kind: xid, gpu: 1, code: 74, during: bandwidth/local}\n  - {kind: xid, gpu: 1, code: 48, during: inventory/busy}"},
	{spec: "health/xid[gpu1]", also: "bandwidth/local or inventory/busy", want: "fail xid", keys: "{kind: xid, gpu: 1, code: 119, during: bandwidth/local}"},
	{spec: "link/nvlink-errors[gpu1]", want: "fail link-errors", keys: "{kind: link-errors, gpu: 1, link: 0, counter: replay, rise: 1}\n  - {kind: link-errors, gpu: 1, link: 17, counter: crc, rise: 2}"},
	{spec: "link/nvlink-peer[gpu0-gpu1]", want: "fail wrong-peer", node: direct, keys: "{kind: wrong-peer, gpu: 0, link: 3, remote: none}\n  - {kind: wrong-peer, gpu: 1, link: 3, remote: none}", env: four},
}
