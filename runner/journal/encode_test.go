package journal

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestEncoderWritesWhatWriterWrites(t *testing.T) {
	path := write(t, 3)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	enc := NewEncoder(&out)
	if err := Scan(bytes.NewReader(text), enc.Encode); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), text) {
		t.Errorf("%s\nbecomes\n%s", text, out.Bytes())
	}
	head, err := Verify(&out)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if want := (Head{Lines: 4, Hash: hash([]byte(lines[3]))}); err != nil || head != want {
		t.Errorf("head %+v, want %+v, error %v", head, want, err)
	}
}

func TestVerifyStopsWhereTheChainBreaks(t *testing.T) {
	text, err := os.ReadFile(write(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	var broken *BrokenError
	head, err := Verify(strings.NewReader(strings.Replace(string(text), "note 1", "note 9", 1)))
	if !errors.As(err, &broken) || broken.Line != 4 || head.Lines != 3 {
		t.Errorf("head %+v, error %v", head, err)
	}
}

func TestIdle(t *testing.T) {
	path := write(t, 1)
	if err := Idle(path); err != nil {
		t.Error(err)
	}
	w, err := Resume(path, func(Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := Idle(path); !errors.Is(err, ErrInUse) {
		t.Errorf("error %v while it is written", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Idle(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v of a file that is not there", err)
	}
}
