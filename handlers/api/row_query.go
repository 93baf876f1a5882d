package api

import (
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"

	"annals/domain/metadata"
	"annals/domain/wire"
)

// rowQuery answers POST /api/1/table/{table}/{operation}, the oldest form of the
// operations on rows: the body is their arguments, but for the table, which is
// in the schema public.
func (a *API) rowQuery(w http.ResponseWriter, r *http.Request) {
	table, operation := chi.URLParam(r, "table"), chi.URLParam(r, "operation")
	if !metadata.IsRowOperation(operation) {
		a.refuse(w, r, &noSuchResource{"No such resource exists"})
		return
	}
	a.answerQuery(w, r, func(body []byte) ([]byte, error) {
		if _, err := wire.Parse(body); err != nil {
			return nil, err
		}
		args := json.RawMessage(body)
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) == nil && members != nil {
			members["table"] = encode(table)
			args = encode(members)
		}
		return encode(struct {
			Type string          `json:"type"`
			Args json.RawMessage `json:"args"`
		}{operation, args}), nil
	})
}
