package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"annals/domain"
	"annals/domain/wire"
	"annals/handlers/api/auth"
)

// Log takes the lines of the log. Whoever wires it decides by [Line.Type]
// which of them are wanted.
type Log func(context.Context, Line)

// Line is one line of the log. Detail is written as JSON.
type Line struct {
	Type   string
	Level  slog.Level
	Detail any
}

// The types of the lines that this package writes.
const (
	// LineHTTP is one for each request.
	LineHTTP = "http-log"
	// LineInternal tells the cause of an "internal error". It should never be
	// switched off.
	LineInternal = "internal-error"
)

// NewLog writes lines as JSON to w, one a line, leaving out those below a
// level:
//
//	{"type":"http-log","timestamp":"2026-11-20T10:11:12.123+0000","level":"info","detail":{...}}
func NewLog(w io.Writer, level slog.Leveler) Log {
	if level == nil {
		level = slog.LevelInfo
	}
	var mu sync.Mutex
	sheets := sync.Pool{New: func() any { return newSheet() }}
	return func(_ context.Context, line Line) {
		if line.Level < level.Level() {
			return
		}
		s := sheets.Get().(*sheet)
		defer func() {
			if s.text.Cap() <= keptSheet {
				sheets.Put(s)
			}
		}()
		s.write(line, time.Now())
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(s.text.Bytes()) // a log that cannot be written has nowhere to say so
	}
}

// keptSheet is how large a sheet may have grown to be used again.
const keptSheet = 64 << 10

// sheet is what one line at a time is written on.
type sheet struct {
	text   bytes.Buffer
	detail *json.Encoder
}

func newSheet() *sheet {
	s := &sheet{}
	s.detail = json.NewEncoder(&s.text)
	s.detail.SetEscapeHTML(false)
	return s
}

func (s *sheet) write(line Line, now time.Time) {
	s.text.Reset()
	s.text.Write(lineHead(s.text.AvailableBuffer(), line, now))
	if err := s.detail.Encode(line.Detail); err != nil { // then it has written nothing
		s.text.Write(wire.AppendString(s.text.AvailableBuffer(), fmt.Sprintf("cannot be written as JSON: %v", err)))
	} else {
		s.text.Truncate(s.text.Len() - 1) // the end of the line that the encoder puts there
	}
	s.text.WriteString("}\n")
}

// lineHead is a line as far as its detail.
func lineHead(b []byte, line Line, now time.Time) []byte {
	b = wire.AppendString(append(b, `{"type":`...), line.Type)
	b = append(now.AppendFormat(append(b, `,"timestamp":"`...), "2006-01-02T15:04:05.000-0700"), '"')
	b = wire.AppendString(append(b, `,"level":`...), strings.ToLower(line.Level.String()))
	return append(b, `,"detail":`...)
}

// httpDetail is what a line tells of one request.
type httpDetail struct {
	Operation operationDetail `json:"operation"`
	HTTP      httpInfo        `json:"http_info"`
}

type operationDetail struct {
	RequestID     string            `json:"request_id"`
	ExecutionTime *float64          `json:"query_execution_time,omitempty"` // seconds
	ResponseSize  int               `json:"response_size"`
	UserVariables map[string]string `json:"user_vars"`
	Error         *errorDetail      `json:"error"`
	Query         *queryText        `json:"query"` // of a GraphQL operation that failed, where [Config.LogQueries] is set
}

// errorDetail is the error without its internal part, which may quote rows.
type errorDetail struct {
	Path  string      `json:"path"`
	Error string      `json:"error"`
	Code  domain.Code `json:"code"`
}

func (p problem) detail() *errorDetail { return &errorDetail{p.Path, p.Error, p.Code} }

type httpInfo struct {
	Status          int     `json:"status"`
	Version         string  `json:"http_version"`
	URL             string  `json:"url"` // the path alone: a query string may hold anything
	IP              string  `json:"ip"`
	Method          string  `json:"method"`
	ContentEncoding *string `json:"content_encoding"`
}

// tell gives a request its id and writes of it, once it is answered, a line of
// the log and the metrics.
func (a *API) tell(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.meters.begin()
		x := &exchange{requestID: requestID(r), client: a.clientOf(r)}
		x.route.Routes = a.router
		r = withExchange(r, x)
		answer := a.pace(w)
		answer.Header().Set(requestIDHeader, x.requestID)
		defer func() {
			a.meters.end(start, r, answer.statusCode())
			a.log(x, Line{LineHTTP, levelOf(r, answer), answered{r, x, answer}})
		}()
		next.ServeHTTP(answer, r)
	})
}

// answered is a request that was answered. What a line tells of it is put
// together when the line is written.
type answered struct {
	*http.Request
	exchange *exchange
	answer   *paced
}

// MarshalJSON implements [json.Marshaler].
func (a answered) MarshalJSON() ([]byte, error) { return encode(a.detail()), nil }

func (a answered) detail() httpDetail {
	r, x, w := a.Request, a.exchange, a.answer
	d := httpDetail{
		Operation: operationDetail{RequestID: x.requestID, ResponseSize: w.size, Query: x.query},
		HTTP: httpInfo{
			Status: w.statusCode(), Version: r.Proto, URL: r.URL.EscapedPath(), Method: r.Method,
			IP: x.address(),
		},
	}
	if encoding := w.Header().Get("Content-Encoding"); encoding != "" {
		d.HTTP.ContentEncoding = &encoding
	}
	if x.caller != nil {
		d.Operation.UserVariables = auth.Redact(x.caller.Variables)
	}
	if x.executed > 0 {
		seconds := x.executed.Seconds()
		d.Operation.ExecutionTime = &seconds
	}
	if x.problem != nil {
		d.Operation.Error = x.problem.detail()
	}
	return d
}

// levelOf is error for every failure, as in v1.3. Probes that succeed are
// told at debug level only.
func levelOf(r *http.Request, w *paced) slog.Level {
	switch {
	case w.statusCode() >= http.StatusBadRequest:
		return slog.LevelError
	case r.URL.Path == healthzPath, r.URL.Path == readyzPath, r.URL.Path == metricsPath:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

type internalDetail struct {
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
	Stack     string `json:"stack,omitempty"`
}

// logInternal writes the cause of an internal error to the log.
func (a *API) logInternal(r *http.Request, err error) {
	detail := internalDetail{RequestID: exchangeOf(r).requestID, Error: err.Error()}
	var failure interface{ Stack() []byte } // a panic, here or where an answer of a subscription was made
	if errors.As(err, &failure) {
		detail.Stack = string(failure.Stack())
	}
	a.log(r.Context(), Line{LineInternal, slog.LevelError, detail})
}
