package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// errNewer is a results.json of a version that this program does not know.
var errNewer = errors.New("this peerproof reads version")

// head is results.json up to its specs.
type head struct {
	version  int
	run      report.Run
	verdict  verdict.Verdict
	exit     int
	counts   report.Counts
	warnings []string
	gpus     []report.GPU
}

// spec is what a fleet looks at of one spec.
type spec struct {
	ID           string          `json:"id"`
	Verdict      verdict.Verdict `json:"verdict"`
	Code         string          `json:"code"`
	Message      string          `json:"message"`
	Path         string          `json:"path"`
	Measurements []measurement   `json:"measurements"`
}

type measurement struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// decode reads results.json and hands its specs over one by one: a rack has
// 180,000. It returns an error that wraps errNewer for another version, and
// one for text that is no results.json, that ends early, or whose counts are
// not those of its specs.
func decode(r io.Reader, each func(*spec)) (*head, error) {
	d := json.NewDecoder(r)
	if err := open(d, '{'); err != nil {
		return nil, err
	}
	var h head
	var counted report.Counts
	specs := false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, ending(err)
		}
		switch key {
		case "version":
			if err = d.Decode(&h.version); err == nil && h.version > report.Version {
				return nil, fmt.Errorf("it is of version %d, %w %d", h.version, errNewer, report.Version)
			}
		case "run":
			err = d.Decode(&h.run)
		case "verdict":
			err = d.Decode(&h.verdict)
		case "exit":
			err = d.Decode(&h.exit)
		case "counts":
			err = d.Decode(&h.counts)
		case "warnings":
			err = d.Decode(&h.warnings)
		case "gpus":
			err = d.Decode(&h.gpus)
		case "specs":
			specs = true
			err = list(d, func(s *spec) {
				counted.Add(s.Verdict)
				each(s)
			})
		default:
			var unknown json.RawMessage
			err = d.Decode(&unknown)
		}
		if err != nil {
			return nil, ending(err)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, ending(err)
	}
	switch {
	case h.version < 1 || h.run.ID == "" || !specs:
		return nil, errors.New("it is no results.json of peerproof: version, run or specs are missing")
	case counted != h.counts || counted.Verdict() != h.verdict:
		return nil, errors.New("its counts are not those of its specs")
	}
	return &h, nil
}

func open(d *json.Decoder, delim json.Delim) error {
	token, err := d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case err != nil:
		return ending(err)
	case token != delim:
		return fmt.Errorf("it does not begin with %q", rune(delim))
	}
	return nil
}

func list(d *json.Decoder, each func(*spec)) error {
	if err := open(d, '['); err != nil {
		return err
	}
	var s spec
	for d.More() {
		clear(s.Measurements)
		s = spec{Measurements: s.Measurements[:0]}
		if err := d.Decode(&s); err != nil {
			return err
		}
		each(&s)
	}
	_, err := d.Token()
	return err
}

// ending words the errors of a file that was cut off.
func ending(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends in the middle")
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	}
	return err
}
