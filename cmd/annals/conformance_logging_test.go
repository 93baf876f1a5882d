package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// What section 6.7 of the cases' description says of the log.

func loggingCases() map[string]codedCase {
	const class = "test_logging.py::TestLogging."
	return map[string]codedCase{
		class + "test_startup_logs": startupLogged,
		class + "test_http_log":     requestsLogged,
	}
}

// logLimit is how long a line may take from the answer to the log.
const logLimit = 5 * time.Second

func startupLogged(ctx context.Context, w *world, _ indexedCase) error {
	var found []any
	for _, line := range w.server.logged("startup") {
		if detail := get(line, "detail"); text(get(detail, "kind")) == "server_configuration" && has(detail, "info") {
			found = append(found, detail)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("wanted one line of the server's configuration, got %s", toJSON(found))
	}
	return w.server.onlyJSON()
}

// requestsLogged asks what succeeds and what fails, and wants a line of each.
func requestsLogged(ctx context.Context, w *world, _ indexedCase) error {
	for id, query := range map[string]string{
		"successful-query": "query { hello { code name } }",
		"failed-query":     "query { hello { code nothing } }",
	} {
		headers := w.withSecret(nil)
		headers["X-Request-Id"] = id
		if _, err := w.post(ctx, "/v1/graphql", graphQL(query), headers); err != nil {
			return err
		}
		line, err := w.server.lineOf(ctx, id)
		if err != nil {
			return err
		}
		info := get(get(line, "detail"), "http_info")
		if text(get(info, "url")) != "/v1/graphql" || get(info, "status") != number("200") || text(get(info, "ip")) == "" {
			return fmt.Errorf("wanted url, status and ip of the request, got %s", toJSON(line))
		}
		if failed := get(get(get(line, "detail"), "operation"), "error") != nil; failed != (id == "failed-query") {
			return fmt.Errorf("wanted an error where there was one, got %s", toJSON(line))
		}
	}
	return w.server.onlyJSON()
}

// lineOf waits for the line of a request.
func (s *server) lineOf(ctx context.Context, requestID string) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, logLimit)
	defer cancel()
	for {
		for _, line := range s.logged("http-log") {
			if text(get(get(get(line, "detail"), "operation"), "request_id")) == requestID {
				return line, nil
			}
		}
		if !waited(ctx, portPause) {
			return nil, fmt.Errorf("no line about request %s; logged:\n%s", requestID, s.lines)
		}
	}
}

// logged returns the lines of one type that the server has written.
func (s *server) logged(kind string) []any {
	var lines []any
	for source := range bytes.Lines([]byte(s.lines.String())) {
		if line, err := parseJSON(source); err == nil && text(get(line, "type")) == kind {
			lines = append(lines, line)
		}
	}
	return lines
}

// onlyJSON wants all that was written to be lines that have type, level, time and detail.
func (s *server) onlyJSON() error {
	for source := range bytes.Lines([]byte(s.lines.String())) {
		line, err := parseJSON(source)
		if err != nil {
			return fmt.Errorf("a line of the log that is no JSON: %w: %s", err, source)
		}
		for _, member := range []string{"type", "level", "timestamp", "detail"} {
			if !has(line, member) {
				return fmt.Errorf("a line of the log without %s: %s", member, source)
			}
		}
	}
	if len(s.logged("startup")) == 0 {
		return errors.New("nothing was logged at the start")
	}
	return nil
}
