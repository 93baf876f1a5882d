package metadata

import (
	stdjson "encoding/json"
	"fmt"

	"github.com/go-json-experiment/json"
)

// encode writes a definition, an operation's arguments or an answer: compact,
// members in the order of the struct's fields, keys of maps sorted, nothing
// escaped that need not be. The same value always gives the same bytes.
func encode(v any) stdjson.RawMessage {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // only values of this package's own types come here
	}
	return b
}

// Encode writes an answer or a command's arguments as encode does for
// definitions: deterministic to the byte.
func Encode(v any) stdjson.RawMessage { return encode(v) }

func decode[T any](raw []byte) (T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
