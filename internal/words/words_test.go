package words_test

import (
	"testing"

	"github.com/peerproof/peerproof/internal/words"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 specs", 1: "1 spec", 2: "2 specs", 1000: "1000 specs"} {
		if got := words.Count(n, "spec", "specs"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
