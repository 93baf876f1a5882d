package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"

	"annals/domain"
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
	handler := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: replaceAttr})
	return func(ctx context.Context, line Line) {
		if !handler.Enabled(ctx, line.Level) {
			return
		}
		// slog puts time and level first. The order of keys is ours, so the
		// record goes without them.
		record := slog.NewRecord(time.Time{}, line.Level, line.Type, 0)
		record.AddAttrs(
			slog.String("timestamp", time.Now().Format("2006-01-02T15:04:05.000-0700")),
			slog.String("level", strings.ToLower(line.Level.String())),
			slog.Any("detail", line.Detail),
		)
		_ = handler.Handle(ctx, record) // a log that cannot be written has nowhere to say so
	}
}

// replaceAttr gives slog's own attributes their names and leaves out the
// level, which each line has as an attribute of its own.
func replaceAttr(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return attr
	}
	switch {
	case attr.Key == slog.MessageKey:
		attr.Key = "type"
	case attr.Key == slog.LevelKey && attr.Value.Kind() == slog.KindAny:
		return slog.Attr{}
	}
	return attr
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
		x := &exchange{requestID: requestID(r)}
		r = withExchange(r, x)
		w.Header().Set(requestIDHeader, x.requestID)
		written := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		done := a.meters.begin()
		defer func() {
			done(r, statusCode(written))
			a.log(r.Context(), Line{LineHTTP, levelOf(r, written), answered{r, x, written}})
		}()
		next.ServeHTTP(a.pace(written), r)
	})
}

// answered is a request that was answered. What a line tells of it is put
// together when the line is written.
type answered struct {
	*http.Request
	exchange *exchange
	written  middleware.WrapResponseWriter
}

// MarshalJSON implements [json.Marshaler].
func (a answered) MarshalJSON() ([]byte, error) { return encode(a.detail()), nil }

func (a answered) detail() httpDetail {
	r, x, w := a.Request, a.exchange, a.written
	d := httpDetail{
		Operation: operationDetail{RequestID: x.requestID, ResponseSize: w.BytesWritten(), Query: x.query},
		HTTP: httpInfo{
			Status: statusCode(w), Version: r.Proto, URL: r.URL.EscapedPath(), Method: r.Method,
			IP: middleware.GetClientIP(r.Context()),
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

// statusCode is the status of an answer. One that was never written is sent by
// net/http as 200.
func statusCode(w middleware.WrapResponseWriter) int {
	if w.Status() == 0 {
		return http.StatusOK
	}
	return w.Status()
}

// levelOf is error for every failure, as in v1.3. Probes that succeed are
// told at debug level only.
func levelOf(r *http.Request, w middleware.WrapResponseWriter) slog.Level {
	switch {
	case statusCode(w) >= http.StatusBadRequest:
		return slog.LevelError
	case slices.Contains([]string{healthzPath, readyzPath, metricsPath}, r.URL.Path):
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
