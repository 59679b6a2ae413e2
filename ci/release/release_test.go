// Package release_test checks a release that lies in the folder PEERPROOF_DIST
// as its users get it: `make release` runs these tests on what it has made.
package release_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oldestGlibc is the C library that a release promises to start on: Debian 11,
// Ubuntu 20.04 and RHEL 9 have it or a newer one.
var oldestGlibc = []int{2, 31}

// dist is the release to look at.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PEERPROOF_DIST")
	if dir == "" {
		t.Skip("PEERPROOF_DIST names no release; make release does")
	}
	return dir
}

// glob has at least one match.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s in the release: %q, %v", pattern, files, err)
	}
	return files
}

// member is a file of a tarball.
type member struct {
	*tar.Header
	data []byte
}

func untar(t *testing.T, file string) []member {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []member
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, member{h, data})
	}
}

// program is the tarball's peerproof, written to a file of its own.
func program(t *testing.T, tarball string) string {
	t.Helper()
	for _, m := range untar(t, tarball) {
		if filepath.Base(m.Name) == "peerproof" && m.Typeflag == tar.TypeReg {
			file := filepath.Join(t.TempDir(), "peerproof")
			if err := os.WriteFile(file, m.data, 0o755); err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatalf("%s holds no peerproof", tarball)
	return ""
}

// architecture is the last word of a file's name.
func architecture(file string) string {
	name := filepath.Base(file)
	name = name[:strings.Index(name, "64")+2]
	return name[strings.LastIndexAny(name, "-_")+1:]
}

// newer says whether a symbol version such as GLIBC_2.34 is above the limit. A
// version without numbers (GLIBC_PRIVATE) belongs to one build of the library
// and is above any limit; versions of other libraries are none of its business.
func newer(version string, limit []int) bool {
	numbers, ok := strings.CutPrefix(version, "GLIBC_")
	if !ok {
		return false
	}
	var have []int
	for n := range strings.SplitSeq(numbers, ".") {
		i, err := strconv.Atoi(n)
		if err != nil {
			return true
		}
		have = append(have, i)
	}
	return slices.Compare(have, limit) > 0
}

func TestNewer(t *testing.T) {
	for version, want := range map[string]bool{
		"GLIBC_2.2.5": false, "GLIBC_2.9": false, "GLIBC_2.31": false, "GLIBC_2.3.4": false,
		"GLIBC_2.32": true, "GLIBC_2.34": true, "GLIBC_2.31.1": true, "GLIBC_3.0": true,
		"GLIBC_PRIVATE": true, "GLIBC_ABI_DT_RELR": true, "GCC_3.0": false, "": false,
	} {
		if got := newer(version, oldestGlibc); got != want {
			t.Errorf("%q is newer than 2.31: %v", version, got)
		}
	}
}

// needs are the reasons why a program would not start with the oldest glibc,
// or without the NVIDIA driver.
func needs(file *elf.File) ([]string, error) {
	symbols, err := file.ImportedSymbols()
	if err != nil {
		return nil, err
	}
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	now, err := file.DynValue(elf.DT_FLAGS)
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, s := range symbols {
		if newer(s.Version, oldestGlibc) {
			wrong = append(wrong, fmt.Sprintf("%s needs %s", s.Name, s.Version))
		}
	}
	glibc := regexp.MustCompile(`^(lib(c|pthread|dl|resolv|m|rt)\.so\.[0-9]+|ld-linux-[a-z0-9_-]+\.so\.[0-9]+)$`)
	for _, l := range libraries {
		if !glibc.MatchString(l) {
			wrong = append(wrong, "links "+l)
		}
	}
	for _, flags := range now {
		if elf.DynFlag(flags)&elf.DF_BIND_NOW != 0 {
			wrong = append(wrong, "binds all symbols at start: it would die without NVML")
		}
	}
	return wrong, nil
}

func TestStartsOnOldGlibc(t *testing.T) {
	for _, tarball := range glob(t, "*.tar.gz") {
		file, err := elf.Open(program(t, tarball))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		wrong, err := needs(file)
		if err != nil || len(wrong) > 0 {
			t.Errorf("%s: %v\n%s", filepath.Base(tarball), err, strings.Join(wrong, "\n"))
		}
		machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[architecture(tarball)]
		if file.Machine != machine || file.Type != elf.ET_DYN {
			t.Errorf("%s: %v %v, not position independent for %v", filepath.Base(tarball), file.Machine, file.Type, machine)
		}
		if file.Section(".symtab") != nil {
			t.Errorf("%s is not stripped", filepath.Base(tarball))
		}
	}
}

// The check above must be able to fail: this test program itself is linked
// against the C library of this machine.
func TestNeedsFindsANewGlibc(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	if err != nil || len(symbols) == 0 {
		t.Skip("a static test program:", err)
	}
	saved := oldestGlibc
	defer func() { oldestGlibc = saved }()
	oldestGlibc = []int{2, 2, 4}
	wrong, err := needs(file)
	if err != nil || len(wrong) == 0 {
		t.Errorf("nothing above glibc 2.2.4 in a program of this machine: %v", err)
	}
}

// The program says which release it is, and of which commit.
func TestVersion(t *testing.T) {
	for _, tarball := range glob(t, "*.tar.gz") {
		if architecture(tarball) != runtime.GOARCH {
			continue
		}
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(tarball), "peerproof-"), "-linux-"+runtime.GOARCH+".tar.gz")
		out, err := exec.Command(program(t, tarball), "version").Output()
		want := regexp.MustCompile(`^peerproof ` + regexp.QuoteMeta(version) + `\ncommit [0-9a-f]{40}\n`)
		if err != nil || !want.Match(out) {
			t.Errorf("expected %s, %v:\n%s", want, err, out)
		}
	}
}

func TestSums(t *testing.T) {
	f, err := os.Open(filepath.Join(dist(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	listed := []string{"SHA256SUMS"}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			t.Fatalf("line %q", lines.Text())
		}
		data, err := os.ReadFile(filepath.Join(dist(t), name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is not what SHA256SUMS says", name)
		}
		listed = append(listed, name)
	}
	var have []string
	for _, file := range glob(t, "*") {
		have = append(have, filepath.Base(file))
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, have); diff != "" {
		t.Errorf("listed (-) and there (+):\n%s", diff)
	}
}

// What of a tarball depends on who packed it, and when, is fixed.
func TestTarballs(t *testing.T) {
	for _, tarball := range glob(t, "*.tar.gz") {
		folder := strings.TrimSuffix(filepath.Base(tarball), ".tar.gz") + "/"
		members := untar(t, tarball)
		first := members[0].ModTime
		names := map[string]bool{}
		for _, m := range members {
			rest, ok := strings.CutPrefix(m.Name, folder)
			if !ok || m.Uid != 0 || m.Gid != 0 || m.Uname != "" || !m.ModTime.Equal(first) || m.Mode&0o022 != 0 {
				t.Errorf("%s: %s has owner %d %q, mode %o, time %s", folder, m.Name, m.Uid, m.Uname, m.Mode, m.ModTime)
			}
			names[rest] = true
		}
		for _, want := range []string{
			"peerproof", "README.md", "THIRD-PARTY-NOTICES.txt", "man/peerproof.1", "completions/peerproof.bash",
			"ci/gitlab/peerproof.gitlab-ci.yml", "ci/jenkins/Jenkinsfile", "ci/github/peerproof.yml",
			"ci/container/Containerfile", "ci/systemd/peerproof.service", "ci/systemd/peerproof.timer", "docs/ci.md",
		} {
			if !names[want] {
				t.Errorf("%s holds no %s", folder, want)
			}
		}
	}
}

// The SBOM names the modules and versions that the program itself was linked
// from, as the Go linker wrote them down, each with a licence.
func TestSBOM(t *testing.T) {
	for _, tarball := range glob(t, "*.tar.gz") {
		info, err := buildinfo.ReadFile(program(t, tarball))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"std " + info.GoVersion}
		for _, m := range info.Deps {
			want = append(want, m.Path+" "+m.Version)
		}
		data, err := os.ReadFile(strings.TrimSuffix(tarball, ".tar.gz") + ".cdx.json")
		if err != nil {
			t.Fatal(err)
		}
		var sbom struct {
			BOMFormat, SpecVersion string
			Metadata               struct {
				Component struct{ Name, Version string }
			}
			Components []struct {
				Name, Version, PURL string
				Evidence            struct{ Licenses []any }
			}
		}
		if err := json.Unmarshal(data, &sbom); err != nil {
			t.Fatal(err)
		}
		if sbom.BOMFormat != "CycloneDX" || sbom.Metadata.Component.Name != "github.com/peerproof/peerproof" {
			t.Errorf("%s is a %s of %+v", tarball, sbom.BOMFormat, sbom.Metadata.Component)
		}
		var got []string
		for _, c := range sbom.Components {
			got = append(got, c.Name+" "+c.Version)
			if c.Name != "std" && len(c.Evidence.Licenses) == 0 {
				t.Errorf("%s has no licence", c.Name)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: linked (-) and listed (+):\n%s", filepath.Base(tarball), diff)
		}
	}
}
