package api

import (
	"errors"
	"log/slog"

	"github.com/coder/websocket"

	"annals/handlers/api/auth"
)

// LineWebSocket tells of a websocket: that it was opened, who was not let in,
// which operation was refused, that it was closed.
const LineWebSocket = "websocket-log"

type socketDetail struct {
	Event         socketEvent       `json:"event"`
	Connection    socketInfo        `json:"connection_info"`
	UserVariables map[string]string `json:"user_vars"`
}

// socketEvent has no text of an operation: it may hold what must not be written down.
type socketEvent struct {
	Type      string `json:"type"`
	Operation string `json:"operation_id,omitempty"`
	Detail    string `json:"detail,omitempty"`
}

type socketInfo struct {
	ID        string `json:"websocket_id"`
	RequestID string `json:"request_id"`
	Message   string `json:"msg,omitempty"`
}

func (s *socket) logSocket(event socketEvent, text string) {
	d := socketDetail{Event: event, Connection: socketInfo{s.id, exchangeOf(s.handshake).requestID, text}}
	if who := s.caller(); who != nil {
		d.UserVariables = auth.Redact(who.Variables)
	}
	level := slog.LevelInfo
	if event.Detail != "" {
		level = slog.LevelError
	}
	s.log(s.alive, Line{LineWebSocket, level, d})
}

// closeReason is what a client said when it went, or what became of the connection.
func closeReason(err error) string {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return closed.Code.String() + " " + closed.Reason
	}
	return err.Error()
}
