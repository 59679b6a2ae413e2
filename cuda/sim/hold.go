package sim

import (
	"time"

	"github.com/peerproof/peerproof/cuda"
)

// Work takes effect when it is queued, but for what is behind work that needs a
// partner which is not there yet: a kernel that meets another GPU's, or a
// collective. Its stream is held until the partner comes, or until somebody
// waits for the stream and no partner comes in time.

// party is work that holds its stream for others of its kind.
type party interface {
	// alone ends it without its partners.
	alone()
	// patience is for how long, of the host's real time, partners may still
	// come.
	patience() time.Duration
}

// held says that what is queued now must wait.
func (s *stream) held() bool { return s.party != nil || s.awaits != nil }

// do gives a stream work, which runs now, when the stream is no longer held, or
// whenever the graph is launched that is being captured.
func (p *process) do(s *stream, work func(*stream)) {
	switch {
	case s.capture != nil:
		s.capture.work = append(s.capture.work, work)
	case s.held():
		s.later = append(s.later, work)
	default:
		work(s)
	}
}

// hold keeps a stream's further work until release.
func (p *process) hold(s *stream, party party) {
	s.party, s.heldSince = party, time.Now()
}

// release lets the work behind what held a stream run.
func (p *process) release(s *stream) {
	s.party, s.awaits = nil, nil
	for len(s.later) > 0 && !s.held() {
		work := s.later[0]
		s.later = s.later[1:]
		work(s)
	}
}

// cause is the stream whose party a held stream waits for in the end.
func (s *stream) cause() *stream {
	for s.party == nil {
		s = s.awaits.stream
	}
	return s
}

// impatient says that a held stream has waited long enough for partners.
func (p *process) impatient(s *stream) bool {
	return p.pending != cuda.Success || time.Since(s.heldSince) >= s.party.patience()
}

// unhold waits until a stream is no longer held. Other threads, which may bring
// a partner, go on meanwhile.
func (p *process) unhold(s *stream) {
	for s.held() {
		cause := s.cause()
		if p.impatient(cause) {
			cause.party.alone()
			continue
		}
		p.mu.Unlock()
		time.Sleep(time.Millisecond)
		p.mu.Lock()
	}
}

// place is what becomes of an event's recording when its stream comes to it.
func (p *process) place(r *record) {
	r.placed, r.hung = true, r.stream.hung
	p.queue = append(p.queue, &item{stream: r.stream, record: r})
	waiting := r.waiting
	r.waiting = nil
	for _, s := range waiting {
		p.release(s)
	}
}
