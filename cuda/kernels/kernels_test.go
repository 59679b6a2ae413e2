package kernels

import (
	"encoding/binary"
	"testing"
)

// The numbers are splitmix64's published first outputs for seed 1234567.
func TestPatternIsSplitmix64(t *testing.T) {
	want := []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821}
	for i, w := range want {
		if got := PatternWord(1234567, uint64(i)); got != w {
			t.Errorf("word %d of seed 1234567 is %d, want %d", i, got, w)
		}
	}
}

func TestPatternIsLittleEndian(t *testing.T) {
	var word [8]byte
	for offset := range uint64(64) {
		binary.LittleEndian.PutUint64(word[:], PatternWord(7, offset/8))
		if got := Pattern(7, offset); got != word[offset%8] {
			t.Errorf("byte %d is %#x, want %#x", offset, got, word[offset%8])
		}
	}
}

func TestLitmusMode(t *testing.T) {
	for want, got := range map[uint64]uint64{
		0x000000: LitmusMode(LitmusMessagePassing, 0, false),
		0x000101: LitmusMode(LitmusStoreBuffering, 1, false),
		0x010102: LitmusMode(LitmusLoadBuffering, 1, true),
	} {
		if got != want {
			t.Errorf("mode is %#x, want %#x", got, want)
		}
	}
}
