package sim

// mirror is what one GPU's writes into another's memory have become where they
// never reach their owner: pieces that this GPU alone sees, by offset and apart.
type mirror struct{ pieces []piece }

type piece struct {
	off  uint64
	data []byte
}

func (q piece) end() uint64 { return q.off + uint64(len(q.data)) }

// mirrored says that what an operation writes to dst is seen by its GPU alone.
// What goes through the host does not take that way.
func (p *process) mirrored(o *operation, dst span) bool {
	driver := o.stream.context.gpu
	return dst.gpu != host && dst.gpu != driver.index && !o.staged &&
		p.hasPairFault("private-mirror", driver, p.gpus[dst.gpu])
}

// seenBy is what a GPU sees of memory, its own mirror before the rest. It is to
// be read only.
func (s span) seenBy(gpu int) []byte {
	m := s.mirrors[gpu]
	if m == nil {
		return s.bytes()
	}
	var seen []byte
	for _, q := range m.pieces {
		if q.off >= s.off+s.n || q.end() <= s.off {
			continue
		}
		if seen == nil {
			seen = append(seen, s.bytes()...)
		}
		if q.off >= s.off {
			copy(seen[q.off-s.off:], q.data)
		} else {
			copy(seen, q.data[s.off-q.off:])
		}
	}
	if seen == nil {
		return s.bytes()
	}
	return seen
}

// mirror makes the first n bytes of memory a piece of a GPU's mirror, and
// returns the piece, as the GPU sees it so far.
func (s span) mirror(gpu int, n uint64) []byte {
	s.n = n
	if n == 0 {
		return nil
	}
	data := append([]byte{}, s.seenBy(gpu)...)
	if s.mirrors == nil {
		s.mirrors = map[int]*mirror{}
	}
	m := s.mirrors[gpu]
	if m == nil {
		m = &mirror{}
		s.mirrors[gpu] = m
	}
	m.cut(s.off, s.off+n)
	m.pieces = append(m.pieces, piece{s.off, data})
	return data
}

// unmirror makes memory that somebody else writes seen by all again.
func (s span) unmirror() {
	for gpu, m := range s.mirrors {
		m.cut(s.off, s.off+s.n)
		if len(m.pieces) == 0 {
			delete(s.mirrors, gpu)
		}
	}
	if len(s.mirrors) == 0 && s.allocation != nil {
		s.mirrors = nil
	}
}

// cut takes a range out of the pieces.
func (m *mirror) cut(from, to uint64) {
	var kept []piece
	for _, q := range m.pieces {
		if q.off < from {
			kept = append(kept, piece{q.off, q.data[:min(from, q.end())-q.off]})
		}
		if q.end() > to {
			at := max(to, q.off)
			kept = append(kept, piece{at, q.data[at-q.off:]})
		}
	}
	m.pieces = kept
}
