package all_test

func init() { faults = append(faults, nodeFaults...) }

// More nodes without a fault.
const (
	direct  = "gpus: {count: 2, model: Tesla V100-SXM2-32GB, memory: 16MiB}\nnvlink: {version: 2, pairs: [{gpus: [0, 1], links: 4}]}\n"
	fifth   = "gpus: {count: 2, model: NVIDIA B200, memory: 16MiB}\nnvlink: {version: 5, switch: {links: 18}}\n"
	noPeers = "gpus: {count: 2, model: NVIDIA L40S, memory: 16MiB}\npcie-p2p: false\n"
)

// Profiles that expect what the default one leaves open.
const (
	modes = "version: 1\nmodes: {mig: off, compute-mode: default, persistence: on, power-limit: 700, confidential-computing: off, ecc: on}\n"
	onPHB = "version: 1\npaths: [{gpus: [0, 1], class: PHB}]\n"
	numa  = "version: 1\ngpus: {count: 2, numa: [0, 0]}\n"
	four  = "version: 1\nnvlink: {links: 4}\npaths: [{gpus: [0, 1], class: NV4}]\n"
	three = "version: 1\nnvlink: {links: 4}\npaths: [{gpus: [0, 1], class: NV3}]\n"
	rates = "version: 1\nlimits: {pcie-correctable-per-minute: 4, nvlink-correctable-per-minute: 4}\n"
	cool  = "version: 1\nlimits: {temperature: 80}\n"
	quick = "version: 1\nsoak: {seconds: 3}\n"
)

// nodeFaults are those that NVML, sysfs and the kernel log show, and those of
// one GPU under load.
var nodeFaults = []fault{
	{spec: "inventory/same-firmware", want: "fail mixed-firmware", keys: "{kind: firmware, gpu: 2, vbios: 96.00.AA.00.01}"},
	{spec: "inventory/same-firmware", want: "fail mixed-firmware", keys: "{kind: firmware, gpu: 2, inforom: G520.0200.00.01}"},
	{spec: "inventory/same-firmware", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 2, call: nvmlDeviceGetVbiosVersion, return: 999}"},
	{spec: "inventory/topology[gpu0-gpu1]", want: "fail wrong-path", node: pcie, keys: "pcie-switches: [[0, 1]]", env: onPHB},
	{spec: "inventory/topology[gpu0-gpu1]", want: "fail wrong-path", node: pcie, keys: "numa: [0, 1]", env: numa},
	{spec: "inventory/topology[gpu0-gpu1]", want: "skip virtualised", node: pcie, keys: "environment: {virtualised: true}", env: onPHB},
	{spec: "inventory/topology[gpu0-gpu1]", want: "error nvml-error", node: pcie, keys: "{kind: nvml-error, gpu: 0, call: nvmlDeviceGetTopologyCommonAncestor, return: 999}", env: onPHB},
	{spec: "inventory/mig-off[gpu1]", want: "fail mig-enabled", keys: "{kind: mig, gpu: 1}", env: modes},
	{spec: "inventory/mig-off[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetMigMode, return: 999}", env: modes},
	{spec: "inventory/compute-mode[gpu1]", want: "fail exclusive-mode", keys: "{kind: compute-mode, gpu: 1, mode: exclusive-process}", env: modes},
	{spec: "inventory/compute-mode[gpu1]", want: "skip no-profile", keys: "{kind: compute-mode, gpu: 1, mode: exclusive-process}"},
	{spec: "inventory/persistence[gpu1]", want: "fail persistence-off", keys: "{kind: persistence-off, gpu: 1}", env: modes},
	{spec: "inventory/power-limit[gpu1]", want: "fail wrong-power-limit", keys: "{kind: power-limit, gpu: 1, watts: 500}", env: modes},
	{spec: "inventory/cc-mode[gpu1]", want: "fail cc-mode", keys: "{kind: cc-mode, gpu: 1, mode: on}", env: modes},
	{spec: "inventory/cc-mode[gpu1]", want: "fail cc-mode", keys: "{kind: cc-mode, gpu: 1, mode: devtools}", env: modes},
	{spec: "inventory/cc-mode[gpu0]", want: "pass", keys: "{kind: cc-mode, gpu: 1, mode: on}", env: modes},
	{spec: "inventory/iommu-acs", want: "fail iommu-translated", node: pcie, keys: "environment: {iommu: on}"},
	{spec: "inventory/iommu-acs", want: "pass", node: pcie, keys: "environment: {iommu: passthrough}"},
	{spec: "inventory/iommu-acs", want: "fail acs-redirect", node: pcie, keys: "environment: {acs-redirect: [1]}"},
	{spec: "inventory/iommu-acs", want: "skip virtualised", node: pcie, keys: "environment: {virtualised: true}"},
	{spec: "inventory/container", want: "fail small-shm", keys: "environment: {container: true, shm: 64MiB}", green: "skip no-container"},
	{spec: "inventory/container", want: "fail missing-device-node", keys: "environment: {container: true}\ndriver: none", green: "skip no-container"},
	{spec: "inventory/container", want: "pass", keys: "environment: {container: true}", green: "skip no-container"},
	{spec: "inventory/bar1[gpu1]", want: "fail small-bar1", node: pcie, keys: "{kind: bar1, gpu: 1, size: 256MiB}"},
	{spec: "inventory/bar1[gpu1]", want: "error nvml-error", node: pcie, keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetBAR1MemoryInfo, return: 999}"},
	{spec: "inventory/bar1[gpu1]", want: "skip no-subjects", node: noPeers, keys: "{kind: bar1, gpu: 1, size: 256MiB}", green: "skip no-subjects"},

	{spec: "link/nvlink-peer[gpu0-gpu1]", want: "fail wrong-peer", node: direct, keys: "{kind: wrong-peer, gpu: 1, link: 2, remote: none}"},
	{spec: "link/nvlink-peer[gpu0-gpu1]", want: "fail wrong-peer", node: direct, keys: "{kind: wrong-peer, gpu: 0, link: 3, remote: 0}", env: four},
	{spec: "link/nvlink-peer[gpu0-gpu1]", want: "pass", node: direct, keys: "{kind: links-down, gpu: 0, links: [3]}", env: four},
	{spec: "link/nvlink-peer[gpu0-gpu1]", want: "fail wrong-peer", node: direct, keys: "seed: 2", env: three, green: "fail wrong-peer"},
	{spec: "link/nvlink-peer[gpu0-gpu1]", want: "error nvml-error", node: direct, keys: "{kind: nvml-error, gpu: 0, call: nvmlDeviceGetNvLinkRemotePciInfo, return: 999}"},
	{spec: "link/nvlink-remote[gpu1]", want: "fail wrong-peer", keys: "{kind: wrong-peer, gpu: 1, link: 7, remote: 0}"},
	{spec: "link/nvlink-remote[gpu1]", want: "fail wrong-peer", keys: "{kind: wrong-peer, gpu: 1, link: 7, remote: none}"},
	{spec: "link/nvlink-errors[gpu1]", want: "fail link-errors", keys: "{kind: link-errors, gpu: 1, link: 3, counter: replay, rise: 1}"},
	{spec: "link/nvlink-errors[gpu1]", want: "fail link-errors", keys: "{kind: link-errors, gpu: 1, link: 3, counter: recovery, rise: 1}"},
	{spec: "link/nvlink-errors[gpu1]", want: "fail link-errors", node: fifth, keys: "{kind: link-errors, gpu: 1, link: 3, counter: recovery, rise: 1}"},
	{spec: "link/nvlink-errors[gpu1]", want: "pass", keys: "{kind: link-errors, gpu: 1, link: 3, counter: crc, rise: 5}"},
	{spec: "link/nvlink-errors[gpu1]", want: "fail link-errors", keys: "{kind: link-errors, gpu: 1, link: 3, counter: crc, rise: 5}", env: rates},
	{spec: "link/nvlink-errors[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetNvLinkErrorCounter, return: 999}"},
	{spec: "link/pcie-errors[gpu1]", want: "fail link-errors", keys: "{kind: link-errors, gpu: 1, pcie: uncorrectable, rise: 1}"},
	{spec: "link/pcie-errors[gpu1]", want: "pass", keys: "{kind: link-errors, gpu: 1, pcie: correctable, rise: 5}"},
	{spec: "link/pcie-errors[gpu1]", want: "fail link-errors", keys: "{kind: link-errors, gpu: 1, pcie: correctable, rise: 5}", env: rates},
	{spec: "link/pcie-errors[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetFieldValues, return: 999}"},
	{spec: "fabric/manager-version", want: "fail version-mismatch", keys: "driver: {version: 580.95.05, fabric-manager: 570.86.15}"},

	{spec: "memory/patterns[gpu1]", want: "fail bit-errors", keys: "{kind: corrupt, gpu: 1, offset: 16000000, bit: 3}"},
	{spec: "memory/patterns[gpu1]", want: "fail bit-errors", keys: "{kind: corrupt, gpu: 1, engine: sm-read, offset: 12345, bit: 0}"},
	{spec: "memory/ecc[gpu1]", want: "fail ecc-off", keys: "{kind: ecc-off, gpu: 1}"},
	{spec: "memory/ecc[gpu1]", want: "fail ecc-uncorrected", keys: "{kind: ecc, gpu: 1, uncorrected: 1}"},
	{spec: "memory/ecc[gpu1]", want: "fail ecc-rate", keys: "{kind: ecc, gpu: 1, corrected-per-gib: 0.1}"},
	{spec: "memory/ecc[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetTotalEccErrors, return: 999}"},
	{spec: "memory/remapped-rows[gpu1]", want: "fail remap-pending", keys: "{kind: remap, gpu: 1, pending: true}"},
	{spec: "memory/remapped-rows[gpu1]", want: "fail remap-failed", keys: "{kind: remap, gpu: 1, failed: true}"},
	{spec: "memory/remapped-rows[gpu1]", want: "pass", keys: "{kind: remap, gpu: 1, completed: 3}"},
	{spec: "memory/remapped-rows[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetRemappedRows, return: 999}"},

	{spec: "health/recovery-action[gpu1]", want: "fail recovery-pending", keys: "{kind: recovery-action, gpu: 1, action: drain}"},
	{spec: "health/recovery-action[gpu1]", want: "skip driver-too-old", keys: "driver: {version: 550.90.07}"},
	{spec: "health/recovery-action[gpu1]", want: "error gpu-lost", keys: "{kind: lost, gpu: 1}"},
	{spec: "health/xid[gpu1]", want: "fail xid", keys: "{kind: xid, gpu: 1, code: 79, text: GPU has fallen off the bus., during: bandwidth/local}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "fail xid", keys: "{kind: xid, gpu: 1, code: 48, during: bandwidth/local}\nenvironment: {kernel-log: denied}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "fail xid", keys: "{kind: xid, gpu: 1, code: 63, during: inventory/busy}", also: "inventory/busy[gpu0]"},
	{spec: "health/xid[gpu1]", want: "pass", keys: "{kind: xid, gpu: 1, code: 31, during: bandwidth/local}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu0]", want: "pass", keys: "{kind: xid, gpu: 1, code: 79, during: bandwidth/local}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "pass", keys: "{kind: xid, gpu: 1, code: 79, during: before-run}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "pass", keys: "{kind: xid, gpu: 1, code: 145, text: RLW Nonfatal XC0, during: bandwidth/local}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "fail xid", keys: "{kind: xid, gpu: 1, code: 145, text: RLW Fatal XC0, during: bandwidth/local}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "error xid-severity-unknown", keys: "{kind: xid, gpu: 1, code: 145, text: RLW Nonfatal XC0, during: bandwidth/local}\nenvironment: {kernel-log: denied}", also: "bandwidth/local[gpu0]"},
	{spec: "health/xid[gpu1]", want: "skip no-xid-source", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceRegisterEvents, return: 3}\nenvironment: {kernel-log: denied}"},
	{spec: "health/throttle[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, reason: hw-slowdown}"},
	{spec: "health/throttle[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, reason: hw-thermal-slowdown}\ndriver: {version: 525.60.13, cuda: 12.0}"},
	{spec: "health/throttle[gpu1]", want: "pass", keys: "{kind: throttle, gpu: 1, reason: sw-power-cap}"},
	{spec: "health/throttle[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetCurrentClocksEventReasons, return: 999}"},
	{spec: "health/temperature[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, temperature: 93}"},
	{spec: "health/temperature[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, temperature: 81}", env: cool},
	{spec: "health/temperature[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, reason: sw-thermal-slowdown}"},
	{spec: "health/temperature[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetTemperature, return: 999}"},
	{spec: "health/power[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, reason: hw-power-brake}"},
	{spec: "health/power[gpu1]", want: "pass", keys: "{kind: throttle, gpu: 1, reason: sw-power-cap}"},
	{spec: "health/compute[gpu1]", want: "fail wrong-result", keys: "{kind: wrong-result, gpu: 1}"},
	{spec: "health/soak[gpu1]", want: "fail wrong-result", keys: "{kind: wrong-result, gpu: 1}", env: quick},
	{spec: "health/soak[gpu1]", want: "fail bit-errors", keys: "{kind: corrupt, gpu: 1, offset: 1572864, bit: 1}", env: quick},
	{spec: "health/soak[gpu1]", want: "fail throttled", keys: "{kind: throttle, gpu: 1, reason: hw-slowdown}", env: quick},
	{spec: "health/nvml-responsive[gpu1]", want: "fail driver-call-hang", keys: "{kind: nvml-hang, gpu: 1, call: nvmlDeviceGetPowerUsage}"},
	{spec: "health/nvml-responsive[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetPowerUsage, return: 999}"},
}
