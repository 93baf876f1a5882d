package api

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5/middleware"
)

// AnswerPieceBytes is how much of an answer a client has to take in at a time:
// see [Config.AnswerTimeout].
const AnswerPieceBytes = 64 << 10

// paced writes an answer piece by piece, and gives up a client that takes one in
// too slowly. A limit of the whole would be one of its length, or of how long its
// operation may run.
type paced struct {
	middleware.WrapResponseWriter
	timeout time.Duration
}

// pace begins an answer. The connection may have a limit of the answer before.
func (a *API) pace(w middleware.WrapResponseWriter) paced {
	p := paced{w, a.cfg.AnswerTimeout}
	p.until(time.Time{})
	return p
}

// Write implements [http.ResponseWriter].
func (p paced) Write(text []byte) (written int, err error) {
	for {
		p.until(time.Now().Add(p.timeout))
		n, err := p.WrapResponseWriter.Write(text[written:min(written+AnswerPieceBytes, len(text))])
		written += n
		if err != nil || written == len(text) {
			return written, err
		}
	}
}

// Unwrap lets an [http.ResponseController] find what this writer does not do itself.
func (p paced) Unwrap() http.ResponseWriter { return p.WrapResponseWriter }

func (p paced) until(deadline time.Time) {
	_ = http.NewResponseController(p.Unwrap()).SetWriteDeadline(deadline) // who has none, such as a tool in this process, is not slow
}
