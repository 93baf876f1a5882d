package api

import (
	"net/http"
	"time"
)

// AnswerPieceBytes is how much of an answer a client has to take in at a time:
// see [Config.AnswerTimeout].
const AnswerPieceBytes = 64 << 10

// paced writes an answer piece by piece, and gives up a client that takes one in
// too slowly. A limit of the whole would be one of its length, or of how long its
// operation may run. It knows what was written.
type paced struct {
	http.ResponseWriter
	timeout time.Duration
	status  int // 0: the answer has not begun
	size    int // of the body
}

// pace begins an answer. The connection may have a limit of the answer before.
func (a *API) pace(w http.ResponseWriter) *paced {
	p := &paced{ResponseWriter: w, timeout: a.cfg.AnswerTimeout}
	p.until(time.Time{})
	return p
}

// WriteHeader implements [http.ResponseWriter]. The first status counts, and what
// is said before it counts as nothing yet.
func (p *paced) WriteHeader(status int) {
	early := status < http.StatusOK && status != http.StatusSwitchingProtocols
	switch {
	case p.status != 0:
		return
	case !early:
		p.status = status
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (p *paced) Write(text []byte) (written int, err error) {
	if p.status == 0 {
		p.WriteHeader(http.StatusOK)
	}
	for {
		p.until(time.Now().Add(p.timeout))
		n, err := p.ResponseWriter.Write(text[written:min(written+AnswerPieceBytes, len(text))])
		written, p.size = written+n, p.size+n
		if err != nil || written == len(text) {
			return written, err
		}
	}
}

// Unwrap lets an [http.ResponseController] find what this writer does not do itself.
func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *paced) until(deadline time.Time) {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(deadline) // who has none, such as a tool in this process, is not slow
}

// statusCode is the status of an answer. One that was never written is sent by
// net/http as 200.
func (p *paced) statusCode() int {
	if p.status == 0 {
		return http.StatusOK
	}
	return p.status
}
