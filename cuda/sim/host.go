package sim

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/peerproof/peerproof/cuda"
)

// host is the operating system around the GPUs.
func (p *process) host() cuda.Host {
	env := &p.file.env
	return cuda.Host{
		Name: p.file.Name,
		FS:   p.files(),
		Environ: func() []string {
			all := ncclEnviron()
			if env.visible != "" {
				all = append(all, "CUDA_VISIBLE_DEVICES="+env.visible)
			}
			return all
		},
		KernelLog: func() (io.ReadCloser, error) {
			if env.logDenied {
				return nil, fmt.Errorf("kernel log: %w", fs.ErrPermission)
			}
			return p.log.open()
		},
	}
}

// tree is a file system under construction.
type tree fstest.MapFS

func (t tree) file(name, text string) { t[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o444} }

func (t tree) link(name, target string) {
	t[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

func (t tree) device(name string) {
	t[name] = &fstest.MapFile{Mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}
}

func (t tree) dir(name string) { t[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755} }

// files are those below / that a check may read.
func (p *process) files() fs.FS {
	t := tree{}
	env := &p.file.env
	release := "6.8.0-60-generic"
	if env.wsl {
		release = "5.15.167.4-microsoft-standard-WSL2"
		t.device("dev/dxg")
	}
	t.file("proc/sys/kernel/osrelease", release+"\n")
	t.file("proc/version", "Linux version "+release+" (simulated)\n")
	flags := "fpu vme"
	if env.virtualised || env.wsl {
		flags += " hypervisor"
	}
	t.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: simulated\nflags\t\t: "+flags+"\n\n")
	t.container(env)
	if !env.virtualised && !env.wsl {
		t.file("sys/class/dmi/id/sys_vendor", "Simulated\n")
		t.file("sys/class/dmi/id/product_name", p.file.Name+"\n")
		t.file("sys/class/dmi/id/product_serial", newSerial(p.file.Name+" host", -1)+"\n")
	}
	t.dir("sys/bus/pci/devices")
	if env.wsl {
		return fstest.MapFS(t) // the host behind WSL keeps PCI to itself
	}
	p.driverFiles(t)
	p.managerLog(t)
	for i, g := range p.gpus {
		p.pciFiles(t, i, g)
	}
	for _, bus := range p.layout.nvswitches {
		t.pci(bus, "pci"+bus[:7], nil, map[string]string{"class": "0x068000", "vendor": "0x10de", "device": "0x22a3", "numa_node": "-1"})
	}
	return fstest.MapFS(t)
}

// container lays what tells that /  is a container's, and what it was given.
func (t tree) container(env *environment) {
	shm := fmt.Sprintf("rw,nosuid,nodev,size=%dk", env.shm>>10)
	root, rootType := "/dev/sda2", "ext4"
	cgroup := "0::/init.scope\n"
	if env.container {
		root, rootType = "overlay", "overlay"
		cgroup = "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n"
		t.file(".dockerenv", "")
		t.file("run/.containerenv", "engine=\"simulated\"\n")
		t.file("proc/1/environ", "container=oci\x00")
	}
	capabilities := uint64(1<<41 - 1)
	if env.container {
		capabilities = 0xa80425fb // what engines leave by default
	}
	t.file("proc/self/status", fmt.Sprintf("Name:\tpeerproof\nCapEff:\t%016x\n", capabilities))
	t.file("proc/1/cgroup", cgroup)
	t.file("proc/self/cgroup", cgroup)
	mounts := fmt.Sprintf("%s / %s rw,relatime 0 0\ntmpfs /dev/shm tmpfs %s 0 0\n", root, rootType, shm)
	t.file("proc/mounts", mounts)
	t.file("proc/self/mounts", mounts)
	mountinfo := fmt.Sprintf("21 1 8:2 / / rw,relatime - %s %s rw\n30 21 0:26 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs %s\n", rootType, root, shm)
	t.file("proc/self/mountinfo", mountinfo)
	t.file("proc/1/mountinfo", mountinfo)
	t.dir("dev/shm")
}

// driverFiles are those of the kernel module, which does not load without a
// GPU.
func (p *process) driverFiles(t tree) {
	module := p.file.driver.kernelModule
	if p.file.driver.none() || len(p.gpus) == 0 {
		return
	}
	t.file("proc/driver/nvidia/version", fmt.Sprintf(
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Release Build  (simulated)\nGCC version:  gcc version 12.2.0\n", module))
	t.file("sys/module/nvidia/version", module+"\n")
	for _, name := range []string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		t.device("dev/" + name)
	}
	for i, g := range p.gpus {
		if p.file.env.given != nil && !slices.Contains(p.file.env.given, i) {
			continue
		}
		t.device(fmt.Sprintf("dev/nvidia%d", i))
		t.file("proc/driver/nvidia/gpus/"+g.place.bus+"/information", fmt.Sprintf(
			"Model: \t\t %s\nIRQ:   \t\t 100\nGPU UUID: \t %s\nVideo BIOS: \t ??.??.??.??.??\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No\n",
			p.file.product.model, g.uuid, g.place.bus, i))
	}
}

// managerLog is what Fabric Manager writes where there is a fabric to manage.
func (p *process) managerLog(t tree) {
	f := p.file
	if f.driver.none() || f.env.virtualised || f.nvlink == nil || f.nvlink.switched == 0 || !f.product.fabric() {
		return
	}
	t.file("var/log/fabricmanager.log", fmt.Sprintf(
		"[Jan 01 2026 00:00:00] [INFO] [tid 1] Fabric Manager version is : %s\n[Jan 01 2026 00:00:01] [INFO] [tid 1] simulated\n", f.driver.fabricManager))
}

// aerFiles are the kernel's counters of Advanced Error Reporting.
func aerFiles(files map[string]string, correctable, nonFatal uint64) {
	files["aer_dev_correctable"] = fmt.Sprintf("RxErr %d\nBadTLP 0\nTOTAL_ERR_COR %d", correctable, correctable)
	files["aer_dev_nonfatal"] = fmt.Sprintf("Undefined 0\nTLP %d\nTOTAL_ERR_NONFATAL %d", nonFatal, nonFatal)
	files["aer_dev_fatal"] = "Undefined 0\nTOTAL_ERR_FATAL 0"
}

// speeds are PCIe's rates as sysfs writes them, by generation.
var speeds = map[int]string{1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}

func linkFiles(files map[string]string, maximum, current pcieLink) map[string]string {
	files["max_link_speed"] = speeds[maximum.gen] + " GT/s PCIe"
	files["max_link_width"] = fmt.Sprint(maximum.width)
	files["current_link_speed"] = speeds[current.gen] + " GT/s PCIe"
	files["current_link_width"] = fmt.Sprint(current.width)
	return files
}

// pciFiles are a GPU's in sysfs, and those of the bridges above it.
func (p *process) pciFiles(t tree, i int, g *gpu) {
	env := &p.file.env
	numa := fmt.Sprint(p.file.numa[i])
	if env.virtualised {
		numa = "-1"
	}
	above := g.place.above
	if env.virtualised {
		above = nil // a guest sees the device on its own root bus
	}
	for depth, bus := range above {
		files := linkFiles(map[string]string{"class": "0x060400", "vendor": "0x8086", "device": "0x352a", "numa_node": numa}, p.file.pcie, g.idle)
		files["config"] = bridgeConfig(slices.Contains(env.acsRedirect, bus))
		t.pci(bus, g.place.root, above[:depth], files)
	}
	files := linkFiles(map[string]string{
		"class": "0x030200", "vendor": "0x10de", "device": fmt.Sprintf("0x%04x", p.file.product.device), "numa_node": numa,
	}, p.file.pcie, g.idle)
	if !env.virtualised {
		d := device{p: p, g: g}
		aerFiles(files, d.pcieRise("correctable"), d.pcieRise("uncorrectable"))
	}
	where := t.pci(g.place.bus, g.place.root, above, files)
	if !p.file.driver.none() {
		t.link(where+"/driver", relative(where, "sys/bus/pci/drivers/nvidia"))
		t.dir("sys/bus/pci/drivers/nvidia")
	}
	if env.iommu != "off" && !env.virtualised {
		group := fmt.Sprintf("sys/kernel/iommu_groups/%d", i)
		kind := "identity"
		if env.iommu == "on" {
			kind = "DMA-FQ"
		}
		t.file(group+"/type", kind+"\n")
		t.dir(group + "/devices/" + g.place.bus)
		t.link(where+"/iommu_group", relative(where, group))
		t.dir("sys/class/iommu/dmar0")
	}
}

// pci lays a device below its bridges, and the link by which it is found.
func (t tree) pci(bus, root string, above []string, files map[string]string) (where string) {
	where = path.Join(append(append([]string{"sys/devices", root}, above...), bus)...)
	for name, text := range files {
		if name != "config" {
			text += "\n"
		}
		t.file(where+"/"+name, text)
	}
	t.link("sys/bus/pci/devices/"+bus, relative("sys/bus/pci/devices", where))
	return where
}

// relative is a symbolic link's text for something in a folder.
func relative(folder, target string) string {
	return strings.Repeat("../", strings.Count(folder, "/")+1) + target
}

// bridgeConfig is a bridge's configuration space: the PCI Express extended
// capability for Access Control Services (PCI Express Base Specification,
// 7.7.8), with or without the redirection of peer requests.
func bridgeConfig(redirect bool) string {
	space := make([]byte, 0x110)
	binary.LittleEndian.PutUint32(space[0x100:], 0x0001_000d) // last in the list, version 1, ACS
	const capable = 1<<0 | 1<<2 | 1<<3 | 1<<4                 // validation, request and completion redirect, forwarding
	binary.LittleEndian.PutUint16(space[0x104:], capable)
	if redirect {
		binary.LittleEndian.PutUint16(space[0x106:], capable)
	}
	return string(space)
}
