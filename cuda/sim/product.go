package sim

import (
	"math/bits"
	"slices"
	"strings"
)

// product is what is known of one GPU model. Figures are those that NVML and
// the data sheets of the product state: total memory as nvmlDeviceGetMemoryInfo
// names it, memory clock as nvmlDeviceGetMaxClockInfo does.
type product struct {
	model        string
	device       uint32 // PCI device id; the vendor is 0x10de
	memoryMiB    uint64
	busBits      uint32 // 0: NVML does not support the question
	memoryMHz    uint32
	smMHz        uint32
	sms          int32
	major, minor int // compute capability
	nvlinks      int // 0: the product has none
	nvlinkVer    int
	gen, width   int
	ecc          eccDefault
	serial       bool // GeForce boards answer NOT_SUPPORTED
	watts        uint32
	vbios        string
	inforom      string
}

type eccDefault uint8

const (
	eccNone eccDefault = iota // the product has no ECC mode
	eccOff
	eccOn
)

func (p *product) memory() uint64 { return p.memoryMiB << 20 }

// bar1 covers the whole memory: the next power of two.
func (p *product) bar1() uint64 { return 1 << bits.Len64(p.memory()-1) }

// fabric says that the GPU registers with a fabric where it sits behind
// NVSwitches: Hopper and later do.
func (p *product) fabric() bool { return p.major >= 9 }

var products = []product{
	{"NVIDIA H200", 0x2335, 143771, 6016, 3201, 1980, 132, 9, 0, 18, 4, 5, 16, eccOn, true, 700, "96.00.BC.00.01", "G520.0280.00.05"},
	{"NVIDIA H100 80GB HBM3", 0x2330, 81559, 5120, 2619, 1980, 132, 9, 0, 18, 4, 5, 16, eccOn, true, 700, "96.00.89.00.01", "G520.0200.00.05"},
	{"NVIDIA H100 NVL", 0x2321, 95830, 6016, 2619, 1785, 132, 9, 0, 18, 4, 5, 16, eccOn, true, 400, "96.00.88.00.11", "1010.0200.00.02"},
	{"NVIDIA H100 PCIe", 0x2331, 81559, 5120, 1593, 1755, 114, 9, 0, 18, 4, 5, 16, eccOn, true, 350, "96.00.74.00.1C", "1010.0200.00.02"},
	{"NVIDIA H20", 0x2329, 97871, 6144, 2619, 1980, 78, 9, 0, 18, 4, 5, 16, eccOn, true, 500, "96.00.AA.00.01", "G520.0280.00.04"},
	{"NVIDIA A100-SXM4-80GB", 0x20b2, 81920, 5120, 1593, 1410, 108, 8, 0, 12, 3, 4, 16, eccOn, true, 400, "92.00.9E.00.01", "G506.0212.00.01"},
	{"NVIDIA A100-SXM4-40GB", 0x20b0, 40960, 5120, 1215, 1410, 108, 8, 0, 12, 3, 4, 16, eccOn, true, 400, "92.00.45.00.03", "G506.0200.00.04"},
	{"NVIDIA A100 80GB PCIe", 0x20b5, 81920, 5120, 1512, 1410, 108, 8, 0, 12, 3, 4, 16, eccOn, true, 300, "92.00.A0.00.0D", "1001.0230.00.03"},
	{"NVIDIA A40", 0x2235, 46068, 384, 7251, 1740, 84, 8, 6, 4, 3, 4, 16, eccOn, true, 300, "94.02.5C.00.03", "G133.0242.00.03"},
	{"NVIDIA A30", 0x20b7, 24576, 3072, 1215, 1440, 56, 8, 0, 4, 3, 4, 16, eccOn, true, 165, "92.00.66.00.10", "1001.0205.00.03"},
	{"NVIDIA A10", 0x2236, 23028, 384, 6251, 1695, 72, 8, 6, 0, 0, 4, 16, eccOn, true, 150, "94.02.75.00.01", "G133.0210.00.04"},
	{"NVIDIA RTX A6000", 0x2230, 49140, 384, 8001, 2100, 84, 8, 6, 4, 3, 4, 16, eccOff, true, 300, "94.02.5C.00.02", "G133.0500.00.05"},
	{"NVIDIA B200", 0x2901, 183359, 8192, 3996, 1965, 148, 10, 0, 18, 5, 5, 16, eccOn, true, 1000, "97.00.82.00.1F", "G525.0225.00.05"},
	{"NVIDIA GB200", 0x2941, 189471, 8192, 3996, 2062, 152, 10, 0, 18, 5, 5, 16, eccOn, true, 1200, "97.00.9A.00.07", "G548.0201.00.06"},
	{"NVIDIA B300 SXM6 AC", 0x3182, 275040, 8192, 3996, 2032, 148, 10, 3, 18, 5, 6, 16, eccOn, true, 1100, "97.10.4C.00.01", "G525.0240.00.02"},
	{"Tesla V100-SXM2-32GB", 0x1db5, 32768, 4096, 877, 1530, 80, 7, 0, 6, 2, 3, 16, eccOn, true, 300, "88.00.80.00.04", "G503.0203.00.05"},
	{"Tesla V100-SXM2-16GB", 0x1db1, 16384, 4096, 877, 1530, 80, 7, 0, 6, 2, 3, 16, eccOn, true, 300, "88.00.4F.00.09", "G503.0201.00.03"},
	{"Tesla T4", 0x1eb8, 15360, 256, 5001, 1590, 40, 7, 5, 0, 0, 3, 16, eccOn, true, 70, "90.04.96.00.01", "G183.0200.00.02"},
	{"NVIDIA L40S", 0x26b9, 46068, 384, 9001, 2520, 142, 8, 9, 0, 0, 4, 16, eccOn, true, 350, "95.02.66.00.02", "G133.0242.00.03"},
	{"NVIDIA L40", 0x26b5, 46068, 384, 9001, 2490, 142, 8, 9, 0, 0, 4, 16, eccOn, true, 300, "95.02.66.00.01", "G133.0242.00.03"},
	{"NVIDIA L4", 0x27b8, 23034, 192, 6251, 2040, 58, 8, 9, 0, 0, 4, 16, eccOn, true, 72, "95.04.29.00.06", "G193.0200.00.01"},
	{"NVIDIA RTX 6000 Ada Generation", 0x26b1, 49140, 384, 10001, 3105, 142, 8, 9, 0, 0, 4, 16, eccOff, true, 300, "95.02.5C.00.02", "G133.0550.00.05"},
	{"NVIDIA RTX PRO 6000 Blackwell Server Edition", 0x2bb5, 97887, 512, 12481, 2430, 188, 12, 0, 0, 0, 5, 16, eccOn, true, 600, "98.02.55.00.01", "G153.0220.00.01"},
	{"NVIDIA GeForce RTX 3090", 0x2204, 24576, 384, 9751, 2100, 82, 8, 6, 4, 3, 4, 16, eccNone, false, 350, "94.02.42.80.25", "G001.0000.03.03"},
	{"NVIDIA GeForce RTX 4090", 0x2684, 24564, 384, 10501, 3105, 128, 8, 9, 0, 0, 4, 16, eccOff, false, 450, "95.02.3C.40.B1", "G002.0000.00.03"},
	{"NVIDIA GeForce RTX 5090", 0x2b85, 32607, 512, 14001, 3090, 170, 12, 0, 0, 0, 5, 16, eccNone, false, 575, "98.02.2E.40.21", "G002.0000.00.03"},
}

// findProduct knows a model by its NVML name. "V100-SXM2-32GB" is found as
// "Tesla V100-SXM2-32GB" too: the brand in front may be left out.
func findProduct(model string) (product, bool) {
	i := slices.IndexFunc(products, func(p product) bool {
		_, short, _ := strings.Cut(p.model, " ")
		return model == p.model || model == short
	})
	if i < 0 {
		return product{model: model}, false
	}
	return products[i], true
}

func modelNames() string {
	names := make([]string, len(products))
	for i, p := range products {
		names[i] = p.model
	}
	return strings.Join(names, ", ")
}
