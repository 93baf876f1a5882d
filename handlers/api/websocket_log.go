package api

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"annals/handlers/api/auth"
)

// LineWebSocket tells of a websocket: that it was opened, or not; who was not
// let in; what became of each operation; that it was closed.
const LineWebSocket = "websocket-log"

type socketDetail struct {
	Event         socketEvent       `json:"event"`
	Connection    socketInfo        `json:"connection_info"`
	UserVariables map[string]string `json:"user_vars"`
}

// socketEvent is accepted, rejected, conn_err, operation or closed.
type socketEvent struct {
	Type   string `json:"type"`
	Detail any    `json:"detail,omitempty"`
}

// operationEvent is what became of an operation. The text of one that failed is
// there where [Config.LogQueries] is set: it may hold what must not be written down.
type operationEvent struct {
	ID        string         `json:"operation_id"`
	RequestID string         `json:"request_id"`
	Name      *string        `json:"operation_name"`
	Phase     operationPhase `json:"operation_type"`
	Query     *queryText     `json:"query"`
}

// operationPhase is started, completed, stopped, proto_err with a text, or
// query_err with an error.
type operationPhase struct {
	Type   string `json:"type"`
	Detail any    `json:"detail,omitempty"`
}

type socketInfo struct {
	ID          string     `json:"websocket_id"`
	RequestID   string     `json:"request_id"`
	TokenExpiry *time.Time `json:"token_expiry"`
	Message     *string    `json:"msg"`
}

// logSocket writes a line about the socket; message says more of it.
func (s *socket) logSocket(level slog.Level, event socketEvent, message string) {
	d := socketDetail{Event: event, Connection: socketInfo{ID: s.id, RequestID: exchangeOf(s.handshake).requestID}}
	if message != "" {
		d.Connection.Message = &message
	}
	if who := s.caller(); who != nil {
		d.UserVariables = auth.Redact(who.Variables)
		if !who.Expires.IsZero() {
			d.Connection.TokenExpiry = &who.Expires
		}
	}
	s.log(s.alive, Line{LineWebSocket, level, d})
}

// logOperation writes a line about an operation of the socket.
func (s *socket) logOperation(o *ongoing, phase operationPhase) {
	event := operationEvent{ID: o.id, RequestID: exchangeOf(s.handshake).requestID, Phase: phase}
	level := slog.LevelInfo
	if phase.Detail != nil {
		level = slog.LevelError
	}
	if text := o.text.Load(); text != nil {
		event.Name = text.OperationName
		if phase.Detail != nil && s.cfg.LogQueries {
			event.Query = text
		}
	}
	s.logSocket(level, socketEvent{"operation", event}, "")
}

// logRejected writes a line about a handshake that was refused.
func (e webSocket) logRejected(r *http.Request, p problem) {
	e.log(r.Context(), Line{LineWebSocket, slog.LevelError, socketDetail{
		Event:      socketEvent{"rejected", p.detail()},
		Connection: socketInfo{ID: uuid.NewString(), RequestID: exchangeOf(r).requestID},
	}})
}

// closeReason is what a client said when it went, or what became of the connection.
func closeReason(err error) string {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return closed.Code.String() + " " + closed.Reason
	}
	return err.Error()
}
