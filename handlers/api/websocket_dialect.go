package api

import (
	"encoding/json"

	"github.com/coder/websocket"
)

// The sub-protocols, by the names that clients ask for. The older one is also
// spoken with those who ask for none.
const (
	legacyProtocol    = "graphql-ws"           // of the library subscriptions-transport-ws
	transportProtocol = "graphql-transport-ws" // of the library graphql-ws
)

// dialect is how a sub-protocol spells what is said.
type dialect struct {
	start, stop string // what a client says to begin and to end an operation
	data        string // what brings an answer
	keepAlive   string
	// strict closes the connection where the other dialect answers with an error.
	strict bool
}

func dialectOf(protocol string) dialect {
	if protocol == transportProtocol {
		return dialect{start: "subscribe", stop: "complete", data: "next", keepAlive: "ping", strict: true}
	}
	return dialect{start: "start", stop: "stop", data: "data", keepAlive: "ka"}
}

// The words that both dialects have.
const (
	wordInit            = "connection_init"
	wordAck             = "connection_ack"
	wordConnectionError = "connection_error"     // legacy
	wordTerminate       = "connection_terminate" // legacy
	wordPing, wordPong  = "ping", "pong"         // transport
	wordError           = "error"
	wordComplete        = "complete"
)

// The statuses that the newer sub-protocol closes a connection with.
const (
	closeBadMessage      websocket.StatusCode = 4400
	closeUnauthorized    websocket.StatusCode = 4401
	closeForbidden       websocket.StatusCode = 4403
	closeInitTimeout     websocket.StatusCode = 4408
	closeOperationExists websocket.StatusCode = 4409
	closeInitTwice       websocket.StatusCode = 4429
)

// message is what a client says.
type message struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Payload json.RawMessage `json:"payload"`
}

// say writes a message. The payload is JSON that was checked by whoever made it.
func say(kind, id string, payload []byte) []byte {
	out := append([]byte(`{"type":`), encode(kind)...)
	if id != "" {
		out = append(append(out, `,"id":`...), encode(id)...)
	}
	if payload != nil {
		out = append(append(out, `,"payload":`...), payload...)
	}
	return append(out, '}')
}

// refused says that an operation was not begun, or has ended with an error.
func (d dialect) refused(id string, p problem, present func(problem) errorForm) [][]byte {
	if d.strict { // its clients read a list of GraphQL's errors, and nothing else
		return [][]byte{say(wordError, id, encode(graphQLErrors(p).Errors))}
	}
	return [][]byte{say(wordError, id, encode(present(p).alone)), say(wordComplete, id, nil)}
}

// failed is the answer of an operation that was begun, and failed.
func (d dialect) failed(id string, p problem, present func(problem) errorForm) []byte {
	listed := present(p).listed
	if d.strict {
		listed = presentGraphQL(p).listed
	}
	return say(d.data, id, encode(struct {
		Data   any   `json:"data"`
		Errors []any `json:"errors"`
	}{nil, []any{listed}}))
}
