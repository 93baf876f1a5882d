package main

import (
	"context"
	"log/slog"
	"slices"

	"annals/handlers/api"
	"annals/handlers/execution"
)

// onlyTypes lets through the types of lines that were asked for. A line of a
// type that cannot be switched off always goes through.
func onlyTypes(log api.Log, wanted []string) api.Log {
	return func(ctx context.Context, line api.Line) {
		if slices.Contains(knownLogTypes, line.Type) && !slices.Contains(wanted, line.Type) {
			return
		}
		log(ctx, line)
	}
}

// lineAction tells of a handler of an action that answered.
const lineAction = "action-handler-log"

func (a *App) logAction(ctx context.Context, h execution.HandlerAnswered) {
	a.lines(ctx, api.Line{Type: lineAction, Level: slog.LevelInfo, Detail: h})
}

// logHandler writes what the parts log through slog as lines of one type.
type logHandler struct {
	lines api.Log
	level slog.Leveler
	kind  string
	attrs []slog.Attr
}

// The types of what the service's parts have to say. None can be switched off.
const (
	lineService = "service"
	lineKeys    = "jwk-refresh-log" // of the source of JWT's keys
)

// Enabled implements [slog.Handler].
func (h logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	detail := map[string]any{"message": r.Message}
	add := func(a slog.Attr) bool {
		value := a.Value.Resolve().Any()
		if err, ok := value.(error); ok {
			value = err.Error()
		}
		detail[a.Key] = value
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.lines(ctx, api.Line{Type: h.kind, Level: r.Level, Detail: detail})
	return nil
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.attrs = append(slices.Clone(h.attrs), attrs...)
	return h
}

// WithGroup implements [slog.Handler]; groups are not told apart.
func (h logHandler) WithGroup(string) slog.Handler { return h }
