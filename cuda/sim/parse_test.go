package sim

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// two is the beginning of a file with two GPUs, three lines long.
const two = "version: 1\nname: two\ngpus: {count: 2, model: NVIDIA L40S}\n"

func TestParseErrors(t *testing.T) {
	cases := []struct {
		name, text string
		place      string // line:column
		says       string
	}{
		{"empty", "", "", "empty"},
		{"only a comment", "# nothing\n", "", "empty"},
		{"no YAML", "version: [\n", "1:10", "not YAML"},
		{"a list", "- 1\n", "1:1", "must be a mapping, found a list"},
		{"nested too deeply", "version: " + strings.Repeat("[", 51), "", "more than 50 brackets"},
		{"too large", strings.Repeat("# a comment\n", 6000), "", "at most 65536 are read"},
		{"duplicate key", two + "seed: 1\nseed: 2\n", "5:1", "already defined"},
		{"second document", two + "---\nversion: 1\n", "4:1", "second YAML document"},
		{"empty second document", two + "---\n", "4:1", "second YAML document"},
		{"unknown key", two + "nvlinks: {}\n", "4:1", `no key "nvlinks"; known here: version, name`},
		{"unknown nested key", two + "driver: {cude: 13.0}\n", "4:10", `driver has no key "cude"`},
		{"anchor", "version: 1\ngpus: &x {count: 2}\n", "2:7", "anchor"},
		{"alias", two + "driver: *x\n", "4:9", "anchor or alias"},
		{"merge key", "version: 1\n<<: {count: 2}\n", "2:1", "plain text"},
		{"tag", two + "seed: !!int 3\n", "4:7", "tag"},
		{"a number for a key", two + "1: 2\n", "4:1", "plain text"},
		{"no version", "gpus: {count: 2}\n", "1:1", "lacks the key version"},
		{"another version", "version: 2\n", "1:10", `version must be 1, the only one there is, found "2"`},
		{"version as text", "version: one\n", "1:10", "version must be 1"},
		{"no gpus", "version: 1\n", "1:1", "lacks the key gpus"},
		{"count is text", "version: 1\ngpus: {count: many}\n", "2:15", `gpus.count must be a whole number from 0 to 256, found "many"`},
		{"count is negative", "version: 1\ngpus: {count: -1}\n", "2:15", "from 0 to 256"},
		{"count is a fraction", "version: 1\ngpus: {count: 1.5}\n", "2:15", "whole number"},
		{"count is huge", "version: 1\ngpus: {count: 99999999999999999999}\n", "2:15", "whole number"},
		{"model is a number", "version: 1\ngpus: {model: 200}\n", "2:15", `gpus.model must be text, found "200"`},
		{"unknown model", "version: 1\ngpus: {model: NVIDIA Z1}\n", "2:15", "NVIDIA H200, NVIDIA H100 80GB HBM3"},
		{"memory is no size", "version: 1\ngpus: {memory: 64MB}\n", "2:16", "must be a size such as 64MiB"},
		{"memory too small", "version: 1\ngpus: {memory: 4KiB}\n", "2:16", "from 1MiB to the 143771 MiB"},
		{"memory beyond the product's", "version: 1\ngpus: {memory: 1TiB}\n", "2:16", "143771 MiB"},
		{"memory overflows", "version: 1\ngpus: {memory: 99999999TiB}\n", "2:16", "too large"},
		{"PCIe generation", "version: 1\ngpus: {pcie: {gen: 7}}\n", "2:20", "gpus.pcie.gen must be a whole number from 1 to 6"},
		{"PCIe width", "version: 1\ngpus: {pcie: {width: 12}}\n", "2:22", "1, 2, 4, 8 or 16"},
		{"numa of another length", two + "numa: [0, 0, 1]\n", "4:7", "numa names the node of 3 GPUs, but gpus.count is 2"},
		{"numa is no list", two + "numa: 0\n", "4:7", "numa must be a list"},
		{"numa before gpus", "version: 1\nnuma: [0]\ngpus: {count: 2}\n", "2:7", "but gpus.count is 2"},
		{"switch with a GPU out of range", two + "pcie-switches: [[0, 2]]\n", "4:21", "a GPU must be a whole number from 0 to 1"},
		{"a GPU under two switches", two + "pcie-switches: [[0], [0, 1]]\n", "4:22", "GPU 0 is under two PCIe switches"},
		{"a switch across sockets", two + "numa: [0, 1]\npcie-switches: [[0, 1]]\n", "5:17", "NUMA nodes 0 and 1"},
		{"NVLink on a model without", two + "nvlink: {switch: {}}\n", "4:9", "NVIDIA L40S has none"},
		{"switch and pairs", "version: 1\ngpus: {count: 2}\nnvlink: {switch: {links: 18}, pairs: []}\n", "3:38", "both switch and pairs"},
		{"neither switch nor pairs", "version: 1\ngpus: {count: 2}\nnvlink: {version: 4}\n", "3:9", "needs switch or pairs"},
		{"too many links", "version: 1\nnvlink: {switch: {links: 19}}\ngpus: {count: 2}\n", "2:26", "from 1 to 18"},
		{"NVLink version", "version: 1\nnvlink: {version: 6, switch: {}}\ngpus: {count: 2}\n", "2:19", "from 1 to 5"},
		{"a pair with itself", "version: 1\nnvlink: {pairs: [{gpus: [1, 1], links: 2}]}\ngpus: {count: 2}\n", "2:25", "two different GPUs"},
		{"a pair twice", "version: 1\ngpus: {count: 2}\nnvlink:\n  pairs:\n  - {gpus: [0, 1], links: 2}\n  - {gpus: [1, 0], links: 2}\n", "6:5", "joined twice"},
		{"a pair without links", "version: 1\nnvlink: {pairs: [{gpus: [0, 1]}]}\ngpus: {count: 2}\n", "2:18", "lacks the key links"},
		{"more links than the GPU has", "version: 1\ngpus: {count: 3}\nnvlink:\n  pairs:\n  - {gpus: [0, 1], links: 10}\n  - {gpus: [0, 2], links: 9}\n", "6:5", "more than the 18"},
		{"pcie-p2p", two + "pcie-p2p: yes\n", "4:11", `true or false, found "yes"`},
		{"efficiency", two + "efficiency: {sys: 1.2}\n", "4:19", "efficiency.sys must be a number from 0.001 to 1"},
		{"noise", two + "noise: 5\n", "4:8", "noise must be a number from 0 to 0.2"},
		{"noise is not a number", two + "noise: .nan\n", "4:8", "noise must be a number"},
		{"driver is a word", two + "driver: some\n", "4:9", "a mapping or none"},
		{"driver version", two + "driver: {version: new}\n", "4:19", "such as 580.95.05"},
		{"CUDA version", two + "driver: {cuda: 13}\n", "4:16", "such as 13.0"},
		{"missing symbol", two + "driver: {missing-symbols: [printf]}\n", "4:28", "libcuda"},
		{"environment is a list", two + "environment: []\n", "4:14", "must be a mapping"},
		{"iommu", two + "environment: {iommu: maybe}\n", "4:22", "environment.iommu must be one of off, on"},
		{"given out of range", two + "environment: {given: [2]}\n", "4:23", "from 0 to 1"},
		{"given twice", two + "environment: {given: [1, 1]}\n", "4:22", "names a GPU twice"},
		{"given without a container", two + "environment: {container: false, given: [1]}\n", "4:40", "but environment.container is false"},
		{"virtualised WSL", two + "environment: {virtualised: true, wsl: true}\n", "4:39", "exclude each other"},
		{"kernel log", two + "environment: {kernel-log: gone}\n", "4:27", "readable, denied"},
		{"no such bridge", two + "environment: {acs-redirect: [\"0000:00:01.0\"]}\n", "4:30", "there is no bridge"},
		{"faults is a mapping", two + "faults: {kind: slow}\n", "4:9", "faults must be a list"},
		{"a fault is text", two + "faults: [slow]\n", "4:10", "fault 1 must be a mapping"},
		{"no kind", two + "faults: [{gpu: 0}]\n", "4:10", "fault 1 lacks the key kind; known are bad-error, bar1"},
		{"unknown kind", two + "faults:\n- kind: slow\n  gpu: 0\n  factor: 0.5\n- kind: slw\n", "8:9", `no fault kind "slw"`},
		{"key of another kind", two + "faults: [{kind: no-access, pair: [0, 1], factor: 2}]\n", "4:42", `fault 1 (no-access) has no key "factor"; known here: kind, pair, both`},
		{"needed key", two + "faults: [{kind: slow, gpu: 0}]\n", "4:10", "fault 1 (slow) lacks the key factor"},
		{"one of several keys", two + "faults: [{kind: identity, gpu: 0}]\n", "4:10", "at least one of uuid, serial, bus-id"},
		{"gpu out of range", two + "faults: [{kind: missing, gpu: 2}]\n", "4:31", "fault 1 (missing).gpu must be a whole number from 0 to 1"},
		{"gpu on a node without", "version: 1\ngpus: {count: 0}\nfaults: [{kind: missing, gpu: 0}]\n", "3:31", "this node has no GPU"},
		{"all GPUs where one is meant", two + "faults: [{kind: missing, gpu: all}]\n", "4:31", "must be one GPU's number"},
		{"a pair of three", two + "faults: [{kind: no-access, pair: [0, 1, 1]}]\n", "4:34", "two GPUs such as [0, 1], or all"},
		{"a pair of a GPU with itself", two + "faults: [{kind: no-access, pair: [1, 1]}]\n", "4:38", "names GPU 1 twice"},
		{"pair out of range", two + "faults: [{kind: no-access, pair: [0, 2]}]\n", "4:38", "from 0 to 1"},
		{"gpu and pair", two + "faults: [{kind: hang, gpu: 0, pair: [0, 1]}]\n", "4:28", "both gpu and pair"},
		{"neither gpu nor pair", two + "faults: [{kind: hang}]\n", "4:10", "needs gpu or pair"},
		{"both without a pair", two + "faults: [{kind: hang, gpu: 0, both: true}]\n", "4:37", "belongs to a pair"},
		{"engine", two + "faults: [{kind: hang, gpu: 0, engine: dma}]\n", "4:39", "any, ce, ce-read"},
		{"signal", two + "faults: [{kind: crash, gpu: 0, signal: USR9}]\n", "4:40", "a signal such as SEGV"},
		{"when", two + "faults: [{kind: slow, gpu: 0, factor: 1, when: never}]\n", "4:48", `"sample: N"`},
		{"a sample that is no number", two + "faults: [{kind: slow, gpu: 0, factor: 1, when: \"sample: x\"}]\n", "4:48", "sample: N"},
		{"bit", two + "faults: [{kind: corrupt, gpu: 0, bit: 8}]\n", "4:39", "from 0 to 7"},
		{"offset", two + "faults: [{kind: corrupt, gpu: 0, offset: -1}]\n", "4:42", "a size"},
		{"an error that is none", two + "faults: [{kind: cuda-init, error: 0}]\n", "4:35", "from 1 to 9999"},
		{"NVML function", two + "faults: [{kind: nvml-hang, gpu: 0, call: nvmlDeviceFly}]\n", "4:42", "no function"},
		{"a kind twice on one GPU", two + "faults:\n- {kind: bar1, gpu: 0, size: 1MiB}\n- {kind: bar1, gpu: 0, size: 2MiB}\n", "6:3", "what the fault on line 5 says"},
		{"all and one", two + "faults:\n- {kind: fabric, gpu: all, state: completed}\n- {kind: fabric, gpu: 0, state: completed}\n", "6:3", "line 5"},
		{"links without NVLink", two + "faults: [{kind: links-down, gpu: 0, links: [0]}]\n", "4:10", "no NVLink"},
		{"link out of range", "version: 1\ngpus: {count: 2}\nnvlink: {switch: {links: 4}}\nfaults: [{kind: links-down, gpu: 0, links: [3, 4]}]\n", "4:44", "no link 4"},
		{"no links", "version: 1\ngpus: {count: 2}\nnvlink: {switch: {links: 4}}\nfaults: [{kind: links-down, gpu: 0, links: []}]\n", "4:44", "names no link"},
		{"health before completion", two + "faults: [{kind: fabric, gpu: 0, state: in-progress, health: healthy}]\n", "4:40", "once the state is completed"},
		{"loaded beyond the GPU", two + "faults: [{kind: pcie-link, gpu: 0, loaded: {gen: 5}}]\n", "4:44", "must not exceed the GPU's own link, gen 4 x16"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("dir/x.yaml", []byte(c.text))
			var e *FileError
			if !errors.As(err, &e) {
				t.Fatalf("no *FileError: %v\n%s", err, c.text)
			}
			place := "dir/x.yaml:"
			if c.place != "" {
				place += c.place + ":"
			}
			if !strings.HasPrefix(err.Error(), place+" ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got  %s\nwant %s …%s…\n%s", err, place, c.says, c.text)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestEveryKindIsRead(t *testing.T) {
	values := map[string]string{
		"gpu": "0", "pair": "[0, 1]", "both": "true", "engine": "any", "offset": "8", "bit": "1", "first-only": "true", "factor": "0.5",
		"when": "always", "signal": "SEGV", "error": "46", "return": "1", "limit": "2", "after": "transfer/", "during": "transfer/",
		"before-run": "true", "call": "nvmlDeviceGetName", "pid": "7", "idle": "{gen: 1}", "loaded": "{gen: 1}", "links": "[0]", "link": "0",
		"remote": "none", "counter": "crc", "pcie": "correctable", "rise": "5", "size": "1MiB", "uuid": "GPU-1", "serial": "123",
		"bus-id": "\"0000:01:00.0\"", "vbios": "1.2", "inforom": "3.4", "code": "79", "text": "fallen off the bus", "uncorrected": "1",
		"corrected-per-gib": "0.5", "completed": "1", "pending": "true", "failed": "true", "action": "reset", "state": "completed",
		"status": "success", "health": "healthy", "reason": "hw-slowdown", "temperature": "90", "mode": "default", "watts": "300",
	}
	for name, k := range kinds {
		text := "version: 1\ngpus: {count: 2}\nnvlink: {switch: {}}\nfaults: [{kind: " + name
		for _, key := range k.keys() {
			if k.scope == gpuOrPair && key == "gpu" || name == "link-errors" && key == "pcie" {
				continue // the other of two that exclude each other
			}
			value := values[key]
			if name == "cc-mode" && key == "mode" {
				value = "on"
			}
			if value == "" {
				t.Fatalf("no value for the key %s of %s", key, name)
			}
			text += ", " + key + ": " + value
		}
		if _, err := Parse("x.yaml", []byte(text+"}]\n")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParse(t *testing.T) {
	f := parse(t, "version: 1\ngpus: {}\n")
	if f.Name != "test" || f.count != 8 || f.product.model != "NVIDIA H200" || f.memory != 64<<20 || f.pcie != (pcieLink{5, 16}) ||
		f.noise != 0.01 || f.seed != 1 || !f.pcieP2P || f.nvlink != nil || len(f.numa) != 8 {
		t.Errorf("defaults: %+v", f)
	}
	if f.efficiency != (efficiency{0.88, 0.86, 0.6, 0.87, 0.4, 0.88, 0.8}) {
		t.Errorf("efficiency %+v", f.efficiency)
	}
	f = parse(t, `
version: 1
name: "13"
seed: 42
gpus: {count: 3, model: V100-SXM2-32GB, memory: 1048576, pcie: {width: 8}}
numa: [1, 0, -1]
nvlink:
  pairs:
  - {gpus: [2, 0], links: 3}
noise: 1e-3
driver: {version: 535.54, cuda: 12.2, missing-symbols: [cuInit]}
environment: {iommu: on, shm: 64MiB, given: [2, 0]}
faults:
- kind: slow
  pair: all
  factor: 0.5
  when:
    sample: 3
`)
	if f.Name != "13" || f.seed != 42 || f.product.model != "Tesla V100-SXM2-32GB" || f.pcie != (pcieLink{3, 8}) || f.noise != 0.001 {
		t.Errorf("read %+v", f)
	}
	if f.driver.version != "535.54" || f.driver.kernelModule != "535.54" || f.driver.cuda != 12020 {
		t.Errorf("driver %+v", f.driver)
	}
	if !f.env.container || f.env.iommu != "on" || !slices.Equal(f.env.given, []int{0, 2}) || f.env.shm != 64<<20 {
		t.Errorf("environment %+v", f.env)
	}
	if f.nvlink.version != 2 || f.nvlink.pairs[0] != (nvlinkPair{0, 2, 3}) || f.faults[0].when != (when{"sample", 3}) {
		t.Errorf("NVLink %+v, faults %+v", f.nvlink, f.faults)
	}
	again, err := Parse("other", []byte(f.Text()))
	if err != nil || again.Name != f.Name {
		t.Errorf("its own text again: %v", err)
	}
}

func TestUnknownModelWithFacts(t *testing.T) {
	f := parse(t, "version: 1\ngpus: {count: 2, model: <b>NVIDIA Z1</b>, memory: 64MiB, pcie: {gen: 6, width: 8}}\nnvlink: {version: 5, switch: {links: 20}}\n")
	if f.product.model != "<b>NVIDIA Z1</b>" || f.pcie != (pcieLink{6, 8}) || f.nvlink.switched != 20 {
		t.Errorf("read %+v", f)
	}
	_, err := Parse("x", []byte("version: 1\ngpus: {count: 2, model: NVIDIA Z1, memory: 64MiB, pcie: {gen: 6, width: 8}}\nnvlink: {switch: {links: 20}}\n"))
	if err == nil || !strings.Contains(err.Error(), "nvlink.version is needed") {
		t.Errorf("a link version that nobody knows: %v", err)
	}
}

func TestLoad(t *testing.T) {
	for _, want := range []string{"hgx-h200-8", "nvl72", "pcie-4", "pcie-8-two-sockets", "single"} {
		if !slices.Contains(Names(), want) {
			t.Errorf("%s is not embedded", want)
		}
	}
	if !slices.IsSorted(Names()) {
		t.Errorf("not sorted: %v", Names())
	}
	for _, name := range Names() {
		f, err := Load(name)
		if err != nil || f.Name != name {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(path, []byte("version: 1\ngpus: {count: 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Load(path); err != nil || f.Name != "mine" {
		t.Errorf("a file: %v, %v", f, err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("#", maxFile+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"no-such-node": "embedded are ",
		dir:            "cannot be read: it is no regular file",
		"/dev/zero":    "cannot be read: it is no regular file",
		large:          "it has more than the 65536 bytes that it may have",
	} {
		_, err := Load(path)
		var e *FileError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), says) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v, want …%s…", path, err, says)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		file, err := Load(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file.text)
	}
	f.Add(two + "faults: [{kind: slow, pair: all, factor: 0.5, when: \"sample: 2\"}]\n")
	f.Add(two + "environment: {container: true, given: [0], acs-redirect: [1]}\ndriver: none\n")
	f.Add("version: 1\ngpus: {count: 4}\nnvlink: {pairs: [{gpus: [0, 1], links: 2}]}\nfaults: [{kind: links-down, gpu: 0, links: [0]}]\n")
	f.Add("a: &x [*x]\n---\n? {}\n: |\n  b\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("fuzz.yaml", []byte(text))
		if err == nil {
			file.Open(History{Started: []string{"a/b[gpu0]"}})
			return
		}
		var e *FileError
		if !errors.As(err, &e) || e.Problem == "" || strings.Contains(e.Problem, "*ast.") {
			t.Errorf("%T: %v", err, err)
		}
	})
}
