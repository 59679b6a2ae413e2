// Package fleet reads the folders of many runs and makes one report of them:
// who failed and why, who is slower than its equals although it passes, and
// whose firmware differs.
package fleet

import (
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Version is the version of fleet.json that this package writes.
const Version = 1

// Report is the whole of fleet.json.
type Report struct {
	Version int       `json:"version"`
	Tool    string    `json:"tool"` // "peerproof 0.1.0", which made this report
	Made    time.Time `json:"made"`
	// Exit is the exit code of the command: 0 all good, 1 a server failed or
	// erred or is an outlier, its run proves nothing, still goes on or cannot
	// be read, 5 no run could be read or nothing was tested.
	Exit int `json:"exit"`
	// Groups keep apart what must not be mixed: runs on real GPUs, LOOPBACK
	// runs and SIMULATED ones.
	Groups  []Group   `json:"groups"`
	Skipped []Skipped `json:"skipped"`
}

// Options are what a report needs beyond the runs.
type Options struct {
	Tool string
	Now  time.Time // the age of a run is counted up to here
}

// Group is the servers with the same marks.
type Group struct {
	Marks    string `json:"marks"` // "", "LOOPBACK", "SIMULATED", "SIMULATED LOOPBACK"
	Verdicts Counts `json:"verdicts"`
	Kinds    []Kind `json:"kinds"`
	// Servers stand with the worst first.
	Servers    []Server    `json:"servers"`
	Failures   []Failure   `json:"failures"`
	Outliers   []Outlier   `json:"outliers"`
	Figures    []Figure    `json:"figures"`
	Drift      []Drift     `json:"drift"`
	Superseded []Earlier   `json:"superseded"`
	Moved      []Moved     `json:"moved_gpus"`
	Ambiguous  []Ambiguous `json:"ambiguous_serials"`
}

// Standing is what a run says of its server: a verdict.Verdict, Broken or Live.
type Standing string

// The standings that are no verdict.
const (
	Broken Standing = "broken" // the journal's hash chain is: the run proves nothing
	Live   Standing = "live"   // the run still goes on, and nothing is bad so far
)

// Counts is how many servers have each standing.
type Counts struct {
	Pass   int `json:"pass"`
	Fail   int `json:"fail"`
	Error  int `json:"error"`
	Skip   int `json:"skip"`
	Broken int `json:"broken"`
	Live   int `json:"live"`
}

// Kind is servers that may be compared with one another: the same product
// with the same GPUs.
type Kind struct {
	Name    string `json:"name"` // "8 x NVIDIA H200, PowerEdge XE9680"
	Servers int    `json:"servers"`
	// Compared is false where they are fewer than MinPeers.
	Compared bool `json:"compared"`
}

// Server is the run that counts for one server.
type Server struct {
	Host      string          `json:"host"`
	Serial    string          `json:"serial,omitempty"`
	Dir       string          `json:"dir"`
	RunID     string          `json:"run_id"`
	Kind      string          `json:"kind"`
	Profile   string          `json:"profile,omitempty"`
	Verdict   verdict.Verdict `json:"verdict"`
	Standing  Standing        `json:"standing"` // what counts of it
	Exit      int             `json:"exit"`
	Counts    report.Counts   `json:"counts"`
	WorstCode string          `json:"worst_code,omitempty"` // of the spec to look at first
	WorstID   string          `json:"worst_id,omitempty"`
	Outliers  int             `json:"outliers"`
	Started   time.Time       `json:"started"`
	Ended     time.Time       `json:"ended"`
	Seconds   float64         `json:"duration_s"`
	Age       float64         `json:"age_s"` // from the end of the run to the making of this report
	// Source is the file that was read: results.json, or journal.jsonl where
	// that was missing or not to be trusted.
	Source   string   `json:"source"`
	Warnings []string `json:"warnings,omitempty"`
}

// Failure is one code, with the parts that it points at.
type Failure struct {
	Code    string          `json:"code"`
	Verdict verdict.Verdict `json:"verdict"` // fail or error
	// Follows says that these specs were not decided because of another
	// failure: they are no cause to look at.
	Follows bool   `json:"follows"`
	Specs   int    `json:"specs"`
	Servers int    `json:"servers"`
	Parts   []Part `json:"parts"`
}

// Part is a piece of hardware, and what speaks against it under one code.
type Part struct {
	Place
	Checks  []string `json:"checks"`
	Specs   int      `json:"specs"`
	Message string   `json:"message,omitempty"` // of the first spec
}

// Place says where something is: a whole server, one GPU of it, or a pair.
type Place struct {
	Level string `json:"level"` // server, gpu, pair
	Host  string `json:"host"`
	// ServerSerial is "" where the server does not tell it.
	ServerSerial string `json:"server_serial,omitempty"`
	Dir          string `json:"dir"`
	Subject      string `json:"subject,omitempty"` // gpu3, gpu0->gpu3; "" for a server
	// GPUs are the one GPU, or the two of a pair.
	GPUs []report.GPU `json:"gpus,omitempty"`
}

// Outlier is a place that is slower than its equals. It may pass every floor.
type Outlier struct {
	Place
	Check    string  `json:"check"`
	Name     string  `json:"name"`
	Unit     string  `json:"unit"`
	Path     string  `json:"path,omitempty"`
	Kind     string  `json:"kind"`
	Value    float64 `json:"value"`
	Expected float64 `json:"expected"` // what its peers would have here
	// Effect is how much worse the value is than expected, in percent.
	Effect float64 `json:"effect_pct"`
	// Z is the distance from the peers' median in their usual spread,
	// Threshold what it had to pass.
	Z         float64 `json:"z"`
	Threshold float64 `json:"threshold"`
	Peers     int     `json:"peers"`
}

// Figure is one quantity over all servers of a kind: each server's score, the
// median over the medians of its GPUs.
type Figure struct {
	Kind    string  `json:"kind"`
	Check   string  `json:"check"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Path    string  `json:"path,omitempty"`
	Servers int     `json:"servers"`
	Least   float64 `json:"least"`
	Median  float64 `json:"median"`
	Most    float64 `json:"most"`
	MAD     float64 `json:"mad"` // median of the distances from the median
	Lower   bool    `json:"lower_is_worse"`
	// Bins count the servers between least and most, in equal steps.
	Bins []int `json:"bins"`
}

// Drift is a version that differs among servers.
type Drift struct {
	What string `json:"what"` // driver, kernel, VBIOS of NVIDIA H200, …
	// Values stand with the most frequent first. Those after it are named.
	Values []Value `json:"values"`
	// Tied says that no value is more frequent than all others.
	Tied bool `json:"tied"`
}

// Value is one version and who has it.
type Value struct {
	Value   string   `json:"value"`
	Servers int      `json:"servers"`
	Hosts   []string `json:"hosts,omitempty"` // not of the most frequent value
}

// Earlier is a run that does not count, since a later one of its server does,
// or since it is that run itself, given twice.
type Earlier struct {
	Host    string          `json:"host"`
	Serial  string          `json:"serial,omitempty"`
	Dir     string          `json:"dir"`
	RunID   string          `json:"run_id"`
	Verdict verdict.Verdict `json:"verdict"`
	Ended   time.Time       `json:"ended"`
	By      string          `json:"by"` // folder of the run that counts
	Same    bool            `json:"same_run,omitempty"`
}

// Moved is a GPU that more than one server's run holds.
type Moved struct {
	Serial string  `json:"serial,omitempty"`
	UUID   string  `json:"uuid,omitempty"`
	Places []Place `json:"places"`
}

// Ambiguous is a serial number that two servers without a common GPU give.
type Ambiguous struct {
	Serial string   `json:"serial"`
	Dirs   []string `json:"dirs"`
}

// Skipped is a folder that is not in the report, and why.
type Skipped struct {
	Dir    string `json:"dir"`
	Reason string `json:"reason"`
	// Unread says that it is a run, or that it could not be looked into: one of
	// the servers may be missing from the report.
	Unread bool `json:"unread,omitempty"`
}

// Unread is how many of the skipped folders are.
func (r *Report) Unread() (n int) {
	for i := range r.Skipped {
		if r.Skipped[i].Unread {
			n++
		}
	}
	return n
}

// Places is how many different places the outliers of a group are in.
func (g *Group) Places() int {
	known := map[string]bool{}
	for i := range g.Outliers {
		known[g.Outliers[i].Dir+"\x00"+g.Outliers[i].Subject] = true
	}
	return len(known)
}
