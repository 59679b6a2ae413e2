package sim

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/cuda"
)

func hostOf(t *testing.T, lines ...string) cuda.Host {
	t.Helper()
	return parse(t, node(lines...)).Open(History{}).Host
}

// read is a file's text without its newline; "" where there is none.
func read(t *testing.T, fsys fs.FS, name string) string {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func names(t *testing.T, fsys fs.FS, folder string) []string {
	t.Helper()
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

const devices = "sys/bus/pci/devices/"

func TestSysfs(t *testing.T) {
	h := hostOf(t, "gpus: {count: 8, model: NVIDIA H200, memory: 4MiB, pcie: {width: 8}}", "numa: [0, 0, 0, 0, 1, 1, 1, 1]",
		"nvlink: {switch: {links: 18}}", "faults: [{kind: pcie-link, gpu: 7, idle: {gen: 1}}]")
	var found []string
	for _, bus := range names(t, h.FS, "sys/bus/pci/devices") {
		if read(t, h.FS, devices+bus+"/class") == "0x030200" && read(t, h.FS, devices+bus+"/vendor") == "0x10de" {
			found = append(found, bus)
		}
	}
	want := []string{"0000:18:00.0", "0000:2a:00.0", "0000:3a:00.0", "0000:5d:00.0", "0000:9a:00.0", "0000:ab:00.0", "0000:ba:00.0", "0000:db:00.0"}
	if !slices.Equal(found, want) {
		t.Fatalf("GPUs %v, want %v", found, want)
	}
	for file, want := range map[string]string{
		"0000:9a:00.0/device":             "0x2335",
		"0000:9a:00.0/numa_node":          "1",
		"0000:18:00.0/numa_node":          "0",
		"0000:18:00.0/max_link_speed":     "32.0 GT/s PCIe",
		"0000:18:00.0/max_link_width":     "8",
		"0000:18:00.0/current_link_speed": "32.0 GT/s PCIe",
		"0000:db:00.0/current_link_speed": "2.5 GT/s PCIe",
		"0000:e1:00.0/class":              "0x068000", // an NVSwitch
	} {
		if got := read(t, h.FS, devices+file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
	for file, want := range map[string]string{
		"sys/module/nvidia/version": "580.95.05",
		"dev/nvidia7":               "",
	} {
		if _, err := fs.Stat(h.FS, file); err != nil || read(t, h.FS, file) != want {
			t.Errorf("%s: %q, %v", file, read(t, h.FS, file), err)
		}
	}
	if v := read(t, h.FS, "proc/driver/nvidia/version"); !strings.Contains(v, "Kernel Module  580.95.05  ") {
		t.Errorf("module version %q", v)
	}
	if i := read(t, h.FS, "proc/driver/nvidia/gpus/0000:ba:00.0/information"); !strings.Contains(i, "Device Minor: \t 6\n") {
		t.Errorf("information %q", i)
	}
	if target, err := fs.ReadLink(h.FS, devices+"0000:18:00.0"); err != nil || !strings.Contains(target, "/devices/pci0000:15/") {
		t.Errorf("link to %q, %v", target, err)
	}
}

// parents are the devices above one, from the link that sysfs has for it.
func parents(t *testing.T, fsys fs.FS, bus string) []string {
	t.Helper()
	target, err := fs.ReadLink(fsys, devices+bus)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(target[strings.Index(target, "/pci")+1:], "/")
	return parts[:len(parts)-1]
}

func TestPCITreeFollowsTheFile(t *testing.T) {
	for _, count := range []int{6, 16, 72} {
		h := hostOf(t, fmt.Sprintf("gpus: {count: %d, model: NVIDIA L40S, memory: 4MiB}", count),
			"numa: ["+strings.TrimSuffix(strings.Repeat("0, ", count/2)+strings.Repeat("1, ", count-count/2), ", ")+"]", "pcie-switches: [[0, 1]]")
		var gpus []string
		for _, bus := range names(t, h.FS, "sys/bus/pci/devices") {
			switch read(t, h.FS, devices+bus+"/class") {
			case "0x030200":
				gpus = append(gpus, bus)
			case "0x060400":
				if len(read(t, h.FS, devices+bus+"/config")) < 0x108 {
					t.Errorf("bridge %s has no configuration space", bus)
				}
			default:
				t.Errorf("%s is neither GPU nor bridge", bus)
			}
		}
		if len(gpus) != count || !slices.IsSorted(gpus) {
			t.Fatalf("%d GPUs, want %d", len(gpus), count)
		}
		zero, one, two, last := parents(t, h.FS, gpus[0]), parents(t, h.FS, gpus[1]), parents(t, h.FS, gpus[2]), parents(t, h.FS, gpus[count-1])
		if len(zero) != 4 || !slices.Equal(zero[:3], one[:3]) || zero[3] == one[3] {
			t.Errorf("under one switch: %v and %v", zero, one)
		}
		if len(two) != 2 || two[0] != zero[0] || two[1] == zero[1] {
			t.Errorf("on one socket: %v and %v", zero, two)
		}
		if last[0] == zero[0] {
			t.Errorf("on two sockets: %v and %v", zero, last)
		}
	}
}

func TestEnvironments(t *testing.T) {
	exists := func(h cuda.Host, name string) bool {
		_, err := fs.Stat(h.FS, name)
		return err == nil
	}
	four := "gpus: {count: 4, model: NVIDIA L40S, memory: 4MiB}"
	bare := hostOf(t, four)
	if exists(bare, ".dockerenv") || exists(bare, "run/.containerenv") || strings.Contains(read(t, bare.FS, "proc/1/cgroup"), "kubepods") {
		t.Error("bare metal looks like a container")
	}
	if exists(bare, "sys/kernel/iommu_groups/0/type") || !exists(bare, "sys/class/dmi/id/product_serial") || !exists(bare, "dev/shm") {
		t.Error("bare metal lacks DMI or /dev/shm, or has an IOMMU")
	}
	if m := read(t, bare.FS, "proc/mounts"); !strings.Contains(m, "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=16777216k ") {
		t.Errorf("mounts %q", m)
	}

	c := hostOf(t, four, "environment: {container: true, given: [1, 3], shm: 64MiB}")
	if !exists(c, "run/.containerenv") || !strings.Contains(read(t, c.FS, "proc/1/cgroup"), "kubepods") {
		t.Error("a container cannot be told")
	}
	for i, given := range []bool{false, true, false, true} {
		if got := exists(c, fmt.Sprintf("dev/nvidia%d", i)); got != given {
			t.Errorf("device node %d: %v", i, got)
		}
	}
	if n := names(t, c.FS, "proc/driver/nvidia/gpus"); len(n) != 2 || len(names(t, c.FS, "sys/bus/pci/devices")) != 8 {
		t.Errorf("the container sees %v", n)
	}
	if m := read(t, c.FS, "proc/self/mountinfo"); !strings.Contains(m, "size=65536k") || !strings.Contains(m, "overlay") {
		t.Errorf("mountinfo %q", m)
	}

	v := hostOf(t, four, "numa: [0, 0, 1, 1]", "environment: {virtualised: true, iommu: on}")
	if read(t, v.FS, devices+"0000:5d:00.0/numa_node") != "-1" || exists(v, "sys/class/dmi/id/product_name") || exists(v, "sys/kernel/iommu_groups/0/type") {
		t.Error("a guest knows its NUMA nodes, DMI or IOMMU")
	}
	if !strings.Contains(read(t, v.FS, "proc/cpuinfo"), "hypervisor") || len(names(t, v.FS, "sys/bus/pci/devices")) != 4 {
		t.Error("a guest does not look like one")
	}

	w := hostOf(t, four, "environment: {wsl: true}")
	if !strings.Contains(read(t, w.FS, "proc/sys/kernel/osrelease"), "microsoft") || !exists(w, "dev/dxg") || len(names(t, w.FS, "sys/bus/pci/devices")) != 0 {
		t.Error("WSL does not look like it")
	}

	n := hostOf(t, four, "driver: none")
	if exists(n, "sys/module/nvidia/version") || exists(n, "proc/driver/nvidia/version") || exists(n, "dev/nvidia0") || len(names(t, n.FS, "sys/bus/pci/devices")) != 8 {
		t.Error("a node without driver has parts of one, or no GPUs")
	}
	if m := read(t, hostOf(t, four, "driver: {kernel-module: 570.10.01}").FS, "sys/module/nvidia/version"); m != "570.10.01" {
		t.Errorf("another kernel module: %q", m)
	}
	if exists(hostOf(t, "gpus: {count: 0}"), "sys/module/nvidia/version") {
		t.Error("a kernel module without a GPU")
	}

	miss := hostOf(t, four, "faults: [{kind: missing, gpu: 2}]")
	if len(names(t, miss.FS, "sys/bus/pci/devices")) != 8 || !exists(miss, "dev/nvidia2") {
		t.Error("PCI does not list a missing GPU")
	}
}

func TestIOMMUAndACS(t *testing.T) {
	four := "gpus: {count: 4, model: NVIDIA L40S, memory: 4MiB}"
	for word, kind := range map[string]string{"on": "DMA-FQ", "translated": "DMA-FQ", "passthrough": "identity", "pt": "identity"} {
		h := hostOf(t, four, "environment: {iommu: "+word+"}")
		if got := read(t, h.FS, devices+"0000:2a:00.0/iommu_group/type"); got != kind {
			t.Errorf("iommu %s: group type %q, want %q", word, got, kind)
		}
	}
	h := hostOf(t, four, `environment: {acs-redirect: [3, "0000:15:02.0"]}`)
	var redirecting []string
	for _, bus := range names(t, h.FS, "sys/bus/pci/devices") {
		if read(t, h.FS, devices+bus+"/class") != "0x060400" {
			continue
		}
		space := []byte(read(t, h.FS, devices+bus+"/config"))
		if header := binary.LittleEndian.Uint32(space[0x100:]); header&0xffff != 0x000d {
			t.Fatalf("capability %#x", header)
		}
		if control := binary.LittleEndian.Uint16(space[0x106:]); control&(1<<2) != 0 {
			redirecting = append(redirecting, bus)
		}
	}
	if want := []string{"0000:15:02.0", "0000:15:04.0"}; !slices.Equal(redirecting, want) {
		t.Errorf("redirecting bridges %v, want %v", redirecting, want)
	}
}
