// Package evidence packs what a run left into one archive that a vendor can
// check with sha256sum and ssh-keygen alone, and verifies such archives. Every
// document in it is made from the journal in it, so that none can contradict
// it.
package evidence

import (
	"io"

	"github.com/peerproof/peerproof/report"
)

// The files of an archive, beside the documents that the caller names and what
// was collected.
const (
	JournalFile   = "journal.jsonl"
	NodeFile      = "node.json"
	KernelFile    = "kernel.txt"
	ManifestFile  = "manifest.json"
	SumsFile      = "SHA256SUMS"
	SignatureFile = "SHA256SUMS.sig"
)

// What may be collected from the machine. The bug report is compressed where
// the machine has gzip.
const (
	SMIFile       = "nvidia-smi.txt"
	BugReportFile = "nvidia-bug-report.log"
	BugReportZip  = BugReportFile + ".gz"
)

// Namespace is what signatures are made for: ssh-keygen -Y verify -n Namespace.
const Namespace = "peerproof-evidence"

// Suffix ends the name of an archive's file.
const Suffix = ".tar.gz"

// Document is a document that is made from a run's results.
type Document struct {
	Name  string
	Write func(io.Writer, *report.Results) error
}

// Missing is something that an archive could hold and does not.
type Missing struct {
	What string `json:"what"`
	Why  string `json:"why"`
}
