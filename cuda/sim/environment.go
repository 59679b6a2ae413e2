package sim

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// environment reads the host around the GPUs; n is nil where the file says
// nothing of it.
func (r *reader) environment(f *File, n ast.Node) {
	if n == nil {
		return
	}
	e := &f.env
	flag := func(key string, at *bool) field {
		return field{key, func(n ast.Node) { *at = r.boolean(n, "environment."+key) }}
	}
	at := r.mapping(n, "environment",
		flag("virtualised", &e.virtualised), flag("nccl", &e.nccl), flag("wsl", &e.wsl), flag("container", &e.container),
		field{"iommu", func(n ast.Node) {
			switch w := r.choice(n, "environment.iommu", "off", "on", "translated", "passthrough", "pt"); w {
			case "translated":
				e.iommu = "on"
			case "pt":
				e.iommu = "passthrough"
			default:
				e.iommu = w
			}
		}},
		field{"acs-redirect", func(n ast.Node) { e.acsRedirect = r.bridges(f, n) }},
		field{"visible-devices", func(n ast.Node) { e.visible = r.scalar(n, "environment.visible-devices") }},
		field{"given", func(n ast.Node) {
			e.given = r.integers(n, "environment.given", "a GPU given to the container", 0, int64(f.count)-1)
			slices.Sort(e.given)
			if len(slices.Compact(slices.Clone(e.given))) != len(e.given) {
				r.fail(n, "environment.given names a GPU twice")
			}
		}},
		field{"shm", func(n ast.Node) { e.shm = r.size(n, "environment.shm") }},
		field{"kernel-log", func(n ast.Node) {
			e.logDenied = r.choice(n, "environment.kernel-log", "readable", "denied") == "denied"
		}},
	)
	switch {
	case r.failed():
	case len(e.given) > 0 && at["container"] != nil && !e.container:
		r.fail(at["given"], "environment.given names the GPUs of a container, but environment.container is false")
	case e.virtualised && e.wsl:
		r.fail(at["wsl"], "environment.wsl and environment.virtualised exclude each other")
	case len(e.given) > 0:
		e.container = true
	}
}

// bridges reads bridges whose ACS redirects peer requests to the root: by
// their bus id, or by the number of the GPU below.
func (r *reader) bridges(f *File, n ast.Node) []string {
	l := newLayout(f)
	var ids []string
	for _, v := range r.list(n, "environment.acs-redirect") {
		if _, ok := v.(*ast.IntegerNode); ok {
			g := r.integer(v, "the GPU below a redirecting bridge", 0, int64(f.count)-1)
			if !r.failed() {
				ids = append(ids, l.gpus[g].above[len(l.gpus[g].above)-1])
			}
			continue
		}
		id := strings.ToLower(r.text(v, "a redirecting bridge"))
		known := l.bridges()
		if !slices.Contains(known, id) && !r.failed() {
			r.fail(v, "there is no bridge %s; this node has %s, or name the GPU below by its number", quote(id), strings.Join(known, ", "))
		}
		ids = append(ids, id)
	}
	return ids
}
