package sim

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// What a healthy machine's PCIe counters may say when a run begins.
const (
	usualReplays  = 1
	usualReceiver = 21
)

// risen is by how much a counter of the GPU has risen since the run began, by
// the faults that an argument picks. The first reading is discovery's.
func (g *gpu) risen(p *process, of func(*fault) bool) (rise uint64) {
	for _, ft := range g.faults {
		if ft.kind == "link-errors" && p.begun && of(ft) {
			rise += ft.rise
		}
	}
	return rise
}

func (d *device) pcieRise(class string) uint64 {
	return d.g.risen(d.p, func(ft *fault) bool { return ft.pcie == class })
}

// linkRise counts the errors of a link in any of some counters.
func (d *device) linkRise(link int, counters ...string) uint64 {
	return d.g.risen(d.p, func(ft *fault) bool {
		return slices.Contains(counters, ft.counter) && slices.Contains(ft.links, link)
	})
}

// GetPcieReplayCounter counts what was sent again, which is what makes an
// error correctable.
func (d *device) GetPcieReplayCounter() (int, nvml.Return) {
	return answer(d, "GetPcieReplayCounter", usualReplays+int(d.pcieRise("correctable")))
}

// GetNvLinkErrorCounter knows the counters of NVLink 1 to 4.
func (d *device) GetNvLinkErrorCounter(link int, counter nvml.NvLinkErrorCounter) (uint64, nvml.Return) {
	_, r := d.nvlink("GetNvLinkErrorCounter", link)
	switch {
	case r != nvml.SUCCESS:
		return 0, r
	case d.p.file.nvlink.version >= 5 || counter == nvml.NVLINK_ERROR_DL_ECC_DATA:
		return 0, nvml.ERROR_NOT_SUPPORTED
	case counter < 0 || counter >= nvml.NVLINK_ERROR_COUNT:
		return 0, nvml.ERROR_INVALID_ARGUMENT
	}
	name := map[nvml.NvLinkErrorCounter]string{
		nvml.NVLINK_ERROR_DL_REPLAY: "replay", nvml.NVLINK_ERROR_DL_RECOVERY: "recovery", nvml.NVLINK_ERROR_DL_CRC_FLIT: "crc",
	}[counter]
	return d.linkRise(link, name), nvml.SUCCESS
}

// GetFieldValues answers each field by itself.
func (d *device) GetFieldValues(values []nvml.FieldValue) nvml.Return {
	if r := d.ask("GetFieldValues"); r != nvml.SUCCESS {
		return r
	}
	for i := range values {
		v := &values[i]
		value, kind, r := d.field(v.FieldId, int(v.ScopeId))
		if v.NvmlReturn = uint32(r); r == nvml.SUCCESS {
			v.ValueType, v.Timestamp = uint32(kind), time.Now().UnixMicro()
			binary.LittleEndian.PutUint64(v.Value[:], value)
		}
	}
	return nvml.SUCCESS
}

// field is the value of one field, of a link where the field is of links.
func (d *device) field(id uint32, link int) (value uint64, kind nvml.ValueType, r nvml.Return) {
	kind = nvml.VALUE_TYPE_UNSIGNED_LONG_LONG
	linked := len(d.g.links) > 0 && !d.p.file.env.virtualised
	ofLink := func(counters ...string) (uint64, nvml.ValueType, nvml.Return) {
		switch {
		case !linked || d.p.file.nvlink.version < 5:
			return 0, 0, nvml.ERROR_NOT_SUPPORTED
		case link < 0 || link >= len(d.g.links):
			return 0, 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return d.linkRise(link, counters...), kind, nvml.SUCCESS
	}
	switch id {
	case nvml.FI_DEV_GET_GPU_RECOVERY_ACTION:
		if d.p.file.driver.branch() < recoveryActionSince {
			return 0, 0, nvml.ERROR_NOT_SUPPORTED
		}
		action := nvml.GPU_RECOVERY_ACTION_NONE
		if ft := d.g.fault("recovery-action"); ft != nil {
			action = recoveryActions[ft.action]
		}
		return uint64(action), nvml.VALUE_TYPE_UNSIGNED_INT, nvml.SUCCESS
	case nvml.FI_DEV_NVLINK_LINK_COUNT:
		if linked {
			return uint64(len(d.g.links)), nvml.VALUE_TYPE_UNSIGNED_INT, nvml.SUCCESS
		}
	case nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS:
		return ofLink("replay", "recovery") // NVLink 5 counts no replays
	case nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS:
		return ofLink("crc")
	case nvml.FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS:
		return usualReceiver + d.pcieRise("correctable"), kind, nvml.SUCCESS
	case nvml.FI_DEV_PCIE_COUNT_RECEIVER_ERROR:
		return usualReceiver, kind, nvml.SUCCESS
	case nvml.FI_DEV_PCIE_COUNT_NON_FATAL_ERROR:
		return d.pcieRise("uncorrectable"), kind, nvml.SUCCESS
	case nvml.FI_DEV_PCIE_COUNT_FATAL_ERROR:
		return 0, kind, nvml.SUCCESS
	}
	return 0, 0, nvml.ERROR_NOT_SUPPORTED
}
