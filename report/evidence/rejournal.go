package evidence

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// redactJournal writes a journal again with its texts redacted, and with a
// chain of its own. A torn last line is left out; a journal whose chain is
// broken is refused, since the new chain would hide that.
func redactJournal(out io.Writer, in io.Reader, r *redactor) error {
	enc := journal.NewEncoder(out)
	err := journal.Scan(in, func(e journal.Event) error {
		r.value(reflect.ValueOf(&e).Elem(), false)
		return enc.Encode(e)
	})
	var torn *journal.TornError
	if errors.As(err, &torn) {
		return nil
	}
	var broken *journal.BrokenError
	if errors.As(err, &broken) {
		return refuse(JournalFile, "line %d %s; expected a whole chain of hashes, since a redacted journal gets a new one: pack it without redaction", broken.Line, broken.What)
	}
	return err
}

// formed are the fields that hold words of ours and of the driver's in a fixed
// form, which could be taken for an address or a name. In all others, those
// that are yet to come too, everything is replaced.
var formed = map[reflect.Type][]string{
	reflect.TypeFor[journal.Event]():         {"Prev", "Type", "Spec"},
	reflect.TypeFor[journal.Check]():         {"ID", "Text", "Labels", "Subjects"},
	reflect.TypeFor[journal.Child]():         {"Task", "Signal", "Status"},
	reflect.TypeFor[journal.Finish]():        {"Reason"},
	reflect.TypeFor[journal.Run]():           {"ID", "Tool", "Preset", "Only"},
	reflect.TypeFor[verdict.Outcome]():       {"Verdict", "Code"},
	reflect.TypeFor[verdict.Measurement]():   {"Name", "Unit"},
	reflect.TypeFor[topology.Xid]():          {"BusID", "Source", "Specs"},
	reflect.TypeFor[topology.Bridge]():       {"BusID"},
	reflect.TypeFor[topology.NVLink]():       {"Remote"},
	reflect.TypeFor[topology.Hidden]():       {"BusID"},
	reflect.TypeFor[topology.Call]():         {"Op"},
	reflect.TypeFor[topology.Driver]():       {"KernelModule", "NVML"},
	reflect.TypeFor[topology.Host]():         {"Serial", "FabricManager", "Kernel"},
	reflect.TypeFor[topology.Surroundings](): {"MissingNodes"},
	reflect.TypeFor[topology.GPU](): {
		"BusID", "NVMLBusID", "UUID", "Serial", "Model", "PartNumber", "DeviceNode", "VBIOS", "InfoROM", "ComputeCapability", "IOMMU",
	},
}

// value redacts all strings in a value, which must be settable.
func (r *redactor) value(v reflect.Value, fixed bool) {
	switch v.Kind() {
	case reflect.String:
		replace := r.text
		if fixed {
			replace = r.fixed
		}
		v.SetString(replace(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			r.value(v.Elem(), fixed)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			r.value(v.Index(i), fixed)
		}
	case reflect.Map:
		r.mapped(v, fixed)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				r.value(v.Field(i), fixed || slices.Contains(formed[v.Type()], f.Name))
			}
		}
	default: // numbers and truth name nobody
	}
}

// mapped redacts a map, keys and values, which are not settable in place.
func (r *redactor) mapped(v reflect.Value, fixed bool) {
	if v.IsNil() {
		return
	}
	again := reflect.MakeMapWithSize(v.Type(), v.Len())
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, key := range keys {
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		k.Set(key)
		e.Set(v.MapIndex(key))
		r.value(k, fixed)
		r.value(e, fixed)
		again.SetMapIndex(k, e)
	}
	v.Set(again)
}
