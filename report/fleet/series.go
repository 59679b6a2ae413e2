package fleet

import (
	"strings"
	"sync"
)

// key names a series: one figure at one position, over all servers.
type key struct {
	class
	subject string // gpu0->gpu3, gpu3, "" for the whole server
}

// class is figures that one may take the median of on one server.
type class struct{ check, name, unit, path string }

// figure is one server's value in a series.
type figure struct {
	series uint32
	value  float64
}

// lowerIsWorse says which way a unit is worse; ok is false for one that has
// no such way, or that a busy host changes as much as a bad GPU does.
func lowerIsWorse(check, unit string) (lower, ok bool) {
	switch unit {
	case "GB/s", "TFLOPS":
		return true, true
	case "ns", "us":
		// Elsewhere these are times of driver calls, which the host's load makes.
		return false, strings.HasPrefix(check, "latency/")
	}
	return false, false
}

// keyOf is the series of a measurement; ok is false where it is not compared.
// A check of the whole node may name a pair in the measurement instead:
// "bandwidth gpu0->gpu3".
func keyOf(check, subject, path, name, unit string) (k key, ok bool) {
	if _, ok = lowerIsWorse(check, unit); !ok {
		return key{}, false
	}
	if at := strings.LastIndexByte(name, ' '); subject == "" && at > 0 && strings.HasPrefix(name[at+1:], "gpu") {
		name, subject = name[:at], name[at+1:]
	}
	return key{class{check, name, unit, path}, subject}, true
}

// catalogue numbers the series and keeps one copy of each word. It may be used
// by several goroutines.
type catalogue struct {
	mu    sync.RWMutex // guards what follows
	index map[key]uint32
	keys  []key
	words map[string]string
}

func newCatalogue() *catalogue {
	return &catalogue{index: map[key]uint32{}, words: map[string]string{}}
}

func (c *catalogue) number(k key) uint32 {
	c.mu.RLock()
	n, ok := c.index[k]
	c.mu.RUnlock()
	if ok {
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok = c.index[k]; ok {
		return n
	}
	n = uint32(len(c.keys))
	c.index[k] = n
	c.keys = append(c.keys, k)
	return n
}

func (c *catalogue) word(text string) string {
	c.mu.RLock()
	kept, ok := c.words[text]
	c.mu.RUnlock()
	if ok {
		return kept
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok = c.words[text]; ok {
		return kept
	}
	c.words[text] = text
	return text
}
