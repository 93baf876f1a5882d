package deliveries

import (
	"encoding/json"

	"annals/domain/metadata"
)

// requestLog is what the log keeps of a request.
type requestLog struct {
	Payload json.RawMessage `json:"payload"`
	Headers json.RawMessage `json:"headers"`
	Version json.RawMessage `json:"version,omitzero"`
}

// maskRequest hides the values of a request's headers, as the audit does in
// definitions. The body is the user's, and is shown as it was sent.
func maskRequest(raw json.RawMessage) json.RawMessage {
	var r requestLog
	if raw == nil || json.Unmarshal(raw, &r) != nil {
		return raw
	}
	var headers struct {
		Headers json.RawMessage `json:"headers"`
	}
	if json.Unmarshal(metadata.Mask(metadata.Encode(map[string]json.RawMessage{"headers": orNull(r.Headers)})), &headers) != nil {
		return nil
	}
	r.Payload, r.Headers = orNull(r.Payload), headers.Headers
	return metadata.Encode(r)
}
