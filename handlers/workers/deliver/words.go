package deliver

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill"
)

// words logs what Watermill says. What it calls news is that it starts and
// stops, and is for debugging; what it says of each message is not written.
type words struct{ log *slog.Logger }

var _ watermill.LoggerAdapter = words{}

// Error implements [watermill.LoggerAdapter].
func (w words) Error(msg string, err error, fields watermill.LogFields) {
	w.log.Error(msg, append(attributes(fields), "error", err)...)
}

// Info implements [watermill.LoggerAdapter].
func (w words) Info(msg string, fields watermill.LogFields) { w.Debug(msg, fields) }

// Debug implements [watermill.LoggerAdapter].
func (w words) Debug(msg string, fields watermill.LogFields) {
	if w.log.Enabled(context.Background(), slog.LevelDebug) {
		w.log.Debug(msg, attributes(fields)...)
	}
}

// Trace implements [watermill.LoggerAdapter].
func (words) Trace(string, watermill.LogFields) {}

// With implements [watermill.LoggerAdapter].
func (w words) With(fields watermill.LogFields) watermill.LoggerAdapter {
	return words{w.log.With(attributes(fields)...)}
}

func attributes(fields watermill.LogFields) []any {
	list := make([]any, 0, 2*len(fields)+2)
	for name, value := range fields {
		list = append(list, name, value)
	}
	return list
}
