package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// File is a node file, read strictly.
type File struct {
	// Name is the node's own name.
	Name string

	text       string
	seed       uint64
	count      int
	product    product
	memory     uint64 // bytes of each GPU that can be allocated
	pcie       pcieLink
	numa       []int
	switches   [][]int // GPUs under one PCIe switch
	nvlink     *nvlinks
	pcieP2P    bool
	efficiency efficiency
	noise      float64
	driver     driver
	env        environment
	faults     []fault
}

// pcieLink is generation and width of a PCIe link.
type pcieLink struct{ gen, width int }

// nvlinks is how GPUs are joined.
type nvlinks struct {
	version  int
	switched int // links of each GPU to the switches; 0 where pairs are joined
	pairs    []nvlinkPair
}

type nvlinkPair struct{ a, b, links int }

// efficiency is what is reached of theory on each path.
type efficiency struct{ nvlink, pcie, sys, host, staged, local, sm float64 }

// driver is what is installed; the zero driver is none.
type driver struct {
	version, kernelModule, fabricManager string
	cuda                                 int // as cuDriverGetVersion says it: 13000
	missing                              []string
}

func (d *driver) none() bool { return d.version == "" }

// environment is the host around the GPUs.
type environment struct {
	virtualised, nccl, wsl, container, logDenied bool
	iommu                                        string
	acsRedirect                                  []string // bus ids of bridges
	visible                                      string   // the caller's CUDA_VISIBLE_DEVICES
	given                                        []int    // nil: all
	shm                                          uint64
}

// maxGPUs is the largest node that can be described.
const maxGPUs = 256

// Parse reads a node file's text; name stands in its errors, all of which are
// *FileErrors.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{file: name}
	f := &File{
		Name: defaultName(name), text: string(data), seed: 1, count: 8, memory: 64 << 20, pcieP2P: true, noise: 0.01,
		efficiency: efficiency{nvlink: 0.88, pcie: 0.86, sys: 0.6, host: 0.87, staged: 0.4, local: 0.88, sm: 0.8},
		driver:     driver{version: "580.95.05", kernelModule: "580.95.05", fabricManager: "580.95.05", cuda: 13000},
		env:        environment{iommu: "off", shm: 16 << 30},
	}
	if top := r.document(data); top != nil {
		r.node(f, top)
	}
	if r.err != nil {
		return nil, r.err
	}
	return f, nil
}

// node reads the whole document. What depends on another key is read after
// it, wherever it stands.
func (r *reader) node(f *File, top ast.Node) {
	later := func(ast.Node) {}
	at := r.mapping(top, "the node", []field{
		{"version", func(n ast.Node) {
			if v, ok := n.(*ast.IntegerNode); !ok || v.GetToken().Value != "1" {
				r.fail(n, "version must be 1, the only one there is, found %s", found(n))
			}
		}},
		{"name", func(n ast.Node) {
			if f.Name = r.scalar(n, "name"); f.Name == "" {
				r.fail(n, "name must not be empty")
			}
		}},
		{"seed", func(n ast.Node) { f.seed = uint64(r.integer(n, "seed", 0, 1<<62)) }},
		{"gpus", func(n ast.Node) { r.gpus(f, n) }},
		{"numa", later},
		{"pcie-switches", later},
		{"nvlink", later},
		{"pcie-p2p", func(n ast.Node) { f.pcieP2P = r.boolean(n, "pcie-p2p") }},
		{"efficiency", func(n ast.Node) { r.efficiency(f, n) }},
		{"noise", func(n ast.Node) { f.noise = r.number(n, "noise", 0, 0.2) }},
		{"driver", func(n ast.Node) { r.driver(f, n) }},
		{"environment", later},
		{"faults", later},
	}...)
	r.require(top, "the node", at, "version", "gpus")
	if r.failed() {
		return
	}
	f.numa = make([]int, f.count)
	r.dependent(f, at)
	if r.failed() {
		return
	}
	r.environment(f, at["environment"])
	if n := at["faults"]; n != nil && !r.failed() {
		for i, v := range r.list(n, "faults") {
			r.fault(f, i, v)
		}
	}
}

// dependent reads the keys whose meaning follows from the number and the model
// of the GPUs.
func (r *reader) dependent(f *File, at map[string]ast.Node) {
	if n := at["numa"]; n != nil {
		f.numa = r.integers(n, "numa", "a NUMA node", -1, 255)
		if len(f.numa) != f.count && !r.failed() {
			r.fail(n, "numa names the node of %d GPUs, but gpus.count is %d", len(f.numa), f.count)
		}
	}
	if n := at["pcie-switches"]; n != nil && !r.failed() {
		r.switches(f, n)
	}
	if n := at["nvlink"]; n != nil && !r.failed() {
		r.nvlink(f, n)
	}
}

func (r *reader) gpus(f *File, n ast.Node) {
	model := "NVIDIA H200"
	var pcie pcieLink
	memory := ast.Node(nil)
	at := r.mapping(n, "gpus", []field{
		{"count", func(n ast.Node) { f.count = int(r.integer(n, "gpus.count", 0, maxGPUs)) }},
		{"model", func(n ast.Node) { model = r.text(n, "gpus.model") }},
		{"memory", func(n ast.Node) { f.memory, memory = r.size(n, "gpus.memory"), n }},
		{"pcie", func(n ast.Node) { pcie = r.pcie(n, "gpus.pcie", pcieLink{}) }},
	}...)
	if r.failed() {
		return
	}
	known := false
	if f.product, known = findProduct(model); !known {
		// A model of tomorrow is described by what the file says of it.
		if memory == nil || pcie.gen == 0 || pcie.width == 0 || model == "" {
			r.fail(at["model"], "gpus.model %s is not known: name a known one (%s), or give gpus.memory and gpus.pcie with gen and width",
				quote(model), modelNames())
			return
		}
		f.product = product{
			model: model, device: 0xffff, memoryMiB: max(1, f.memory>>20), major: 9, sms: 100, serial: true,
			smMHz: 1500, watts: 300, vbios: "00.00.00.00.01", inforom: "0000.0000.00.01",
		}
	}
	f.pcie = pcieLink{f.product.gen, f.product.width}
	if pcie.gen != 0 {
		f.pcie.gen = pcie.gen
	}
	if pcie.width != 0 {
		f.pcie.width = pcie.width
	}
	if f.memory < 1<<20 || f.memory > f.product.memory() {
		r.fail(memory, "gpus.memory must be from 1MiB to the %d MiB that the model has", f.product.memoryMiB)
	}
}

// pcie reads {gen, width}; what is left out is taken from most, and none may
// exceed it where it is known.
func (r *reader) pcie(n ast.Node, what string, most pcieLink) pcieLink {
	link := most
	r.mapping(n, what, []field{
		{"gen", func(n ast.Node) { link.gen = int(r.integer(n, what+".gen", 1, 6)) }},
		{"width", func(n ast.Node) {
			link.width = int(r.integer(n, what+".width", 1, 16))
			if link.width&(link.width-1) != 0 {
				r.fail(n, "%s.width must be 1, 2, 4, 8 or 16, found %s", what, found(n))
			}
		}},
	}...)
	if most.gen != 0 && (link.gen > most.gen || link.width > most.width) {
		r.fail(n, "%s must not exceed the GPU's own link, gen %d x%d", what, most.gen, most.width)
	}
	return link
}

func (r *reader) switches(f *File, n ast.Node) {
	seen := map[int]bool{}
	for _, v := range r.list(n, "pcie-switches") {
		group := r.integers(v, "the GPUs under a PCIe switch", "a GPU", 0, int64(f.count)-1)
		for _, g := range group {
			if r.failed() {
				return
			}
			if seen[g] {
				r.fail(v, "GPU %d is under two PCIe switches", g)
			} else if f.numa[g] != f.numa[group[0]] {
				r.fail(v, "GPUs %d and %d are under one PCIe switch but on NUMA nodes %d and %d", group[0], g, f.numa[group[0]], f.numa[g])
			}
			seen[g] = true
		}
		f.switches = append(f.switches, group)
	}
}

func (r *reader) nvlink(f *File, n ast.Node) {
	links := &nvlinks{version: f.product.nvlinkVer}
	most := int64(f.product.nvlinks)
	known := f.product.busBits != 0
	if known && most == 0 {
		r.fail(n, "nvlink: %s has none; leave the key out", f.product.model)
		return
	}
	if !known {
		most = 36 // nvml.h: NVML_NVLINK_MAX_LINKS
	}
	at := r.mapping(n, "nvlink", []field{
		{"version", func(n ast.Node) { links.version = int(r.integer(n, "nvlink.version", 1, 5)) }},
		{"switch", func(n ast.Node) {
			links.switched = int(most)
			r.mapping(n, "nvlink.switch", field{"links", func(n ast.Node) {
				links.switched = int(r.integer(n, "nvlink.switch.links", 1, most))
			}})
		}},
		{"pairs", func(n ast.Node) { links.pairs = r.nvlinkPairs(f, n, int(most)) }},
	}...)
	switch {
	case r.failed():
	case at["switch"] != nil && at["pairs"] != nil:
		r.fail(at["pairs"], "nvlink has both switch and pairs; expected one of them")
	case at["switch"] == nil && at["pairs"] == nil:
		r.fail(n, "nvlink needs switch or pairs")
	case links.version == 0:
		r.fail(n, "nvlink.version is needed for a model that is not known")
	}
	f.nvlink = links
}

func (r *reader) nvlinkPairs(f *File, n ast.Node, most int) []nvlinkPair {
	var pairs []nvlinkPair
	used := make([]int, f.count)
	for _, v := range r.list(n, "nvlink.pairs") {
		p := nvlinkPair{links: 1}
		at := r.mapping(v, "an NVLink pair", []field{
			{"gpus", func(n ast.Node) {
				g := r.integers(n, "gpus of an NVLink pair", "a GPU", 0, int64(f.count)-1)
				if len(g) != 2 || g[0] == g[1] {
					r.fail(n, "gpus of an NVLink pair must be two different GPUs, such as [0, 1]")
					return
				}
				p.a, p.b = min(g[0], g[1]), max(g[0], g[1])
			}},
			{"links", func(n ast.Node) { p.links = int(r.integer(n, "links of an NVLink pair", 1, int64(most))) }},
		}...)
		r.require(v, "an NVLink pair", at, "gpus", "links")
		if r.failed() {
			return nil
		}
		if slices.ContainsFunc(pairs, func(q nvlinkPair) bool { return q.a == p.a && q.b == p.b }) {
			r.fail(v, "GPUs %d and %d are joined twice", p.a, p.b)
		}
		used[p.a] += p.links
		used[p.b] += p.links
		if used[p.a] > most || used[p.b] > most {
			r.fail(v, "GPU %d has more than the %d NVLinks of its model", p.a, most)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func (r *reader) efficiency(f *File, n ast.Node) {
	e := &f.efficiency
	of := func(key string, at *float64) field {
		return field{key, func(n ast.Node) { *at = r.number(n, "efficiency."+key, 0.001, 1) }}
	}
	r.mapping(n, "efficiency", of("nvlink", &e.nvlink), of("pcie", &e.pcie), of("sys", &e.sys), of("host", &e.host),
		of("staged", &e.staged), of("local", &e.local), of("sm", &e.sm))
}

var (
	driverVersion = regexp.MustCompile(`^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$`)
	cudaVersion   = regexp.MustCompile(`^([0-9]{1,2})\.([0-9])$`)
	symbolName    = regexp.MustCompile(`^(cu|nvml)[A-Z][A-Za-z0-9_]{0,60}$`)
)

func (r *reader) driver(f *File, n ast.Node) {
	if s, ok := n.(*ast.StringNode); ok && s.Value == "none" {
		f.driver = driver{}
		return
	}
	if _, ok := n.(*ast.StringNode); ok {
		r.fail(n, "driver must be a mapping or none, found %s", found(n))
		return
	}
	d := &f.driver
	version := func(key string, into *string) field {
		return field{key, func(n ast.Node) {
			if *into = r.scalar(n, "driver."+key); !driverVersion.MatchString(*into) {
				r.fail(n, "driver.%s must be a driver version such as 580.95.05, found %s", key, found(n))
			}
		}}
	}
	at := r.mapping(n, "driver", version("version", &d.version), field{"cuda", func(n ast.Node) {
		m := cudaVersion.FindStringSubmatch(r.scalar(n, "driver.cuda"))
		if m == nil {
			r.fail(n, "driver.cuda must be a CUDA version such as 13.0, found %s", found(n))
			return
		}
		major, _ := strconv.Atoi(m[1]) // the pattern has digits only
		minor, _ := strconv.Atoi(m[2])
		d.cuda = major*1000 + minor*10
	}}, version("kernel-module", &d.kernelModule), version("fabric-manager", &d.fabricManager), field{"missing-symbols", func(n ast.Node) {
		for _, v := range r.list(n, "driver.missing-symbols") {
			s := r.text(v, "a missing symbol")
			if !symbolName.MatchString(s) {
				r.fail(v, "a missing symbol must be a function of libcuda (cu…) or NVML (nvml…), found %s", found(v))
			}
			d.missing = append(d.missing, s)
		}
	}})
	if at["kernel-module"] == nil {
		d.kernelModule = d.version
	}
	if at["fabric-manager"] == nil {
		d.fabricManager = d.version
	}
}

// unit names a fault in an error message.
func unit(index int, kind string) string {
	if kind == "" {
		return fmt.Sprintf("fault %d", index+1)
	}
	return fmt.Sprintf("fault %d (%s)", index+1, kind)
}
