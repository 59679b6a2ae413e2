package sim

import (
	"reflect"
	"strings"

	"github.com/peerproof/peerproof/cuda"
)

// addOptional fills in the functions that a driver may lack, but for those that
// this one does.
func (p *process) addOptional(api *cuda.API) {
	api.Memcpy3DPeerAsync = p.memcpy3DPeerAsync

	api.StreamBeginCapture = p.streamBeginCapture
	api.StreamEndCapture = p.streamEndCapture
	api.GraphInstantiate = p.graphInstantiate
	api.GraphLaunch = p.graphLaunch
	api.GraphExecDestroy = p.graphExecDestroy
	api.GraphDestroy = p.graphDestroy

	api.MemGetAllocationGranularity = p.memGetAllocationGranularity
	api.MemAddressReserve = p.memAddressReserve
	api.MemAddressFree = p.memAddressFree
	api.MemCreate = p.memCreate
	api.MemRelease = p.memRelease
	api.MemMap = p.memMap
	api.MemUnmap = p.memUnmap
	api.MemSetAccess = p.memSetAccess

	api.MemPoolCreate = p.memPoolCreate
	api.MemPoolDestroy = p.memPoolDestroy
	api.MemPoolSetAccess = p.memPoolSetAccess
	api.MemAllocFromPoolAsync = p.memAllocFromPoolAsync
	api.MemFreeAsync = p.memFreeAsync

	api.IPCGetMemHandle = p.ipcGetMemHandle
	api.IPCOpenMemHandle = p.ipcOpenMemHandle
	api.IPCCloseMemHandle = p.ipcCloseMemHandle

	table := reflect.ValueOf(api).Elem()
	for i := range table.NumField() {
		symbol, option, _ := strings.Cut(table.Type().Field(i).Tag.Get("sym"), ",")
		if option == "optional" && p.file.lacks(symbol) {
			table.Field(i).SetZero()
		}
	}
}
