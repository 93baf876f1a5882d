package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

const jsonType = "application/json; charset=utf-8"

// succeed answers 200 with JSON, compressed if the client can read that.
func (a *API) succeed(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header) {
		body = a.gzip.compress(body)
		w.Header().Set("Content-Encoding", "gzip")
	}
	answer(w, http.StatusOK, body)
}

// answer sends JSON as it is.
func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone is told nothing
}

// encode writes JSON compactly, with nothing escaped for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // only types of this package come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// acceptsGzip reports whether gzip is among the encodings that a client
// accepts, and not with the quality 0, which refuses it.
func acceptsGzip(h http.Header) bool {
	for _, list := range h.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(list, ",") {
			name, params, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return !isZeroQuality(params)
			}
		}
	}
	return false
}

func isZeroQuality(params string) bool {
	q, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(params, " ", "")), "q=")
	value, err := strconv.ParseFloat(q, 64)
	return ok && err == nil && value == 0
}

// gzipPool keeps compressors for reuse: each is most of a megabyte.
type gzipPool struct{ pool sync.Pool }

func (p *gzipPool) compress(body []byte) []byte {
	var b bytes.Buffer
	z, _ := p.pool.Get().(*gzip.Writer)
	if z == nil {
		z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only on a level that does not exist
	}
	defer p.pool.Put(z)
	z.Reset(&b)
	_, _ = z.Write(body) // a buffer in memory takes everything
	_ = z.Close()
	return b.Bytes()
}
