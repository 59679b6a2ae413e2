package kernels

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	entry = regexp.MustCompile(`(?s)\.visible \.entry (\w+)\((.*?)\)`)
	param = regexp.MustCompile(`\.param \.(\w+) `)
)

// entries are the number of 64-bit parameters of each kernel in a PTX text; -1
// where one is of another width.
func entries(ptx string) map[string]int {
	found := map[string]int{}
	for _, e := range entry.FindAllStringSubmatch(ptx, -1) {
		params := param.FindAllStringSubmatch(e[2], -1)
		found[e[1]] = len(params)
		for _, p := range params {
			if p[1] != "u64" {
				found[e[1]] = -1
			}
		}
	}
	return found
}

func TestPTXHasTheKernels(t *testing.T) {
	if got := entries(ptx); !maps.Equal(got, Params) {
		t.Errorf("kernels.ptx has kernels and parameters %v, Params says %v", got, Params)
	}
	for _, want := range []string{".version 6.0\n", ".target sm_70\n", ".address_size 64\n"} {
		if !strings.Contains(ptx, want) {
			t.Errorf("kernels.ptx lacks %q", want)
		}
	}
	// An array in local memory halves what verify and copy reach.
	if strings.Contains(ptx, ".local") {
		t.Error("kernels.ptx uses local memory")
	}
}

// What orders memory, and what reaches past this GPU's caches, has no effect
// that a test on a CPU would miss, and a compiler may drop it unseen.
func TestPTXHasTheInstructions(t *testing.T) {
	bodies := map[string]string{}
	for _, text := range strings.Split(ptx, ".visible .entry ")[1:] {
		name, body, _ := strings.Cut(text, "(")
		bodies[name] = body
	}
	for name, instructions := range map[string][]string{
		Add:      {"red.relaxed.sys.global.add.u64"},
		Gate:     {"ld.acquire.sys.global.u32", "%globaltimer"},
		Chase:    {"ld.relaxed.sys.global.u64"},
		PingPong: {"st.release.sys.global.u32", "ld.acquire.sys.global.u32", "st.relaxed.sys.global.u32", "ld.relaxed.sys.global.u32"},
		Litmus: {
			"st.release.sys.global.u32", "ld.acquire.sys.global.u32", "st.relaxed.sys.global.u32", "ld.relaxed.sys.global.u32",
			"fence.sc.sys", "bar.sync", "%clock",
		},
		CheckPattern: {"red.global.add.u64", "red.global.min.u64", "red.global.or.b64"},
		Product:      {"wmma.mma.sync", "fma.rn.f32"},
	} {
		for _, instruction := range instructions {
			if !strings.Contains(bodies[name], instruction) {
				t.Errorf("%s has no %s", name, instruction)
			}
		}
	}
}

func TestPTXEndsInNUL(t *testing.T) {
	image := PTX()
	if bytes.IndexByte(image, 0) != len(image)-1 {
		t.Error("PTX does not end in its only NUL byte")
	}
	image[0] = 'x'
	if PTX()[0] == 'x' {
		t.Error("a caller can change the next one's PTX")
	}
}

// The committed PTX is what `go generate` makes of the sources.
func TestPTXIsUpToDate(t *testing.T) {
	if _, err := exec.LookPath("clang-19"); err != nil {
		t.Skip("clang-19 is not installed; CI has it")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	generate := exec.Command("go", "generate", "ptx.go")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("go generate: %v\n%s", err, out)
	}
	fresh, err := os.ReadFile(filepath.Join(dir, "kernels.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	if string(fresh) != ptx {
		t.Error("kernels.ptx is older than kernels.cu: run go generate ./cuda/kernels")
	}
}
