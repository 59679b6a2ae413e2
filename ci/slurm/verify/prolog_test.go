// Package verify tests the scripts for Slurm without a Slurm.
package verify

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// prolog runs prolog.sh on a node whose GPUs, in PCI order, have the device
// files of these numbers, and returns which of them it tested and what it said.
func prolog(t *testing.T, minors []string, env ...string) (tested, said string) {
	t.Helper()
	lab := t.TempDir()
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(lab, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lab, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("bin/peerproof", "#!/bin/sh\n[ \"$1\" != run ] || printf %s \"$CUDA_VISIBLE_DEVICES\" >>'"+lab+"/tested'\n")
	put("bin/logger", "#!/bin/sh\n")
	for i, minor := range minors {
		put(fmt.Sprintf("gpus/0000:%02x:00.0/information", 0x18+i), "Model: \t\t NVIDIA H200\nDevice Minor: \t "+minor+"\nGPU Excluded:\t No\n")
	}
	cmd := exec.Command("sh", "../prolog.sh")
	cmd.Env = append([]string{
		"PATH=" + lab + "/bin:" + os.Getenv("PATH"), "PEERPROOF=" + lab + "/bin/peerproof", "PEERPROOF_PROC=" + lab + "/gpus",
		"PEERPROOF_RUNS=" + lab + "/runs", "SLURM_JOB_ID=7", "SLURM_JOB_PARTITION=main", "SLURMD_NODENAME=n1",
	}, env...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	log, _ := os.ReadFile(filepath.Join(lab, "tested")) // none: nothing was tested
	return string(log), string(text)
}

func TestThePrologTestsTheGPUsOfTheJob(t *testing.T) {
	alike, crossed := []string{"0", "1", "2", "3"}, []string{"2", "3", "0", "1"}
	for name, c := range map[string]struct {
		minors []string
		env    []string
		tested string
		doubt  bool // it said that it does not know which they are
	}{
		"both orders alike":         {alike, []string{"SLURM_JOB_GPUS=1,2"}, "1,2", false},
		"no driver":                 {nil, []string{"SLURM_JOB_GPUS=1,2"}, "1,2", false},
		"orders differ":             {crossed, []string{"SLURM_JOB_GPUS=0"}, "", true},
		"orders differ, same GPUs":  {crossed, []string{"SLURM_JOB_GPUS=0,2"}, "0,2", false},
		"orders differ, the node":   {crossed, []string{"SLURM_JOB_GPUS=0,1,2,3"}, "0,1,2,3", false},
		"by PCI address":            {crossed, []string{"SLURM_JOB_GPUS=0,1", "PEERPROOF_PROLOG_ORDER=pci"}, "0,1", false},
		"by device file":            {crossed, []string{"SLURM_JOB_GPUS=0,3", "PEERPROOF_PROLOG_ORDER=file"}, "1,2", false},
		"by device file, no driver": {nil, []string{"SLURM_JOB_GPUS=0", "PEERPROOF_PROLOG_ORDER=file"}, "0", false},
		"a file that nobody has":    {[]string{"0", "2"}, []string{"SLURM_JOB_GPUS=1"}, "", true},
		"UUIDs":                     {crossed, []string{"SLURM_JOB_GPUS=0", "CUDA_VISIBLE_DEVICES=GPU-aa"}, "GPU-aa", false},
		"parts of GPUs":             {alike, []string{"SLURM_JOB_GPUS=0", "CUDA_VISIBLE_DEVICES=MIG-aa"}, "", false},
		"Slurm's other variable":    {alike, []string{"CUDA_VISIBLE_DEVICES=3"}, "3", false},
		"no GPUs":                   {alike, nil, "", false},
		"no partition":              {alike, []string{"SLURM_JOB_GPUS=1,2", "SLURM_JOB_PARTITION="}, "1,2", false},
		"ten are more than two":     {strings.Split("0 1 2 3 4 5 6 7 8 9 10", " "), []string{"SLURM_JOB_GPUS=10,2"}, "10,2", false},
	} {
		t.Run(name, func(t *testing.T) {
			tested, said := prolog(t, c.minors, c.env...)
			if tested != c.tested {
				t.Errorf("tested %q, want %q: %s", tested, c.tested, said)
			}
			if doubt := strings.Contains(said, "PEERPROOF_PROLOG_ORDER has to say"); doubt != c.doubt {
				t.Errorf("said %q, want doubt: %t", said, c.doubt)
			}
		})
	}
}
