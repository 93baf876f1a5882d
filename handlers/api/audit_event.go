package api

import (
	"encoding/json"
	"net/http"

	"github.com/go-chi/chi/v5"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
)

// eventDetail is one event with all that is known of it, and each object that
// it touched as it was before and after.
type eventDetail struct {
	eventBody
	Objects       []objectBody `json:"objects"`
	BatchIndex    *int         `json:"batch_index"`
	SchemaVersion int          `json:"schema_version"`
	PrevHash      hexBytes     `json:"prev_hash"`
}

// objectBody is an object that an event touched. Before is null for one that
// was created, after for one that is gone.
type objectBody struct {
	Kind   metadata.Kind   `json:"kind"`
	Key    string          `json:"key"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// auditEvent answers GET /v1/audit/events/{position}.
func (a *API) auditEvent(w http.ResponseWriter, r *http.Request) {
	detail, err := a.eventAt(r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.succeed(w, r, encode(detail))
}

func (a *API) eventAt(r *http.Request) (eventDetail, error) {
	var position int64
	text := chi.URLParam(r, "position")
	if expected := parseWhole(&position, text, 1); expected != "" {
		return eventDetail{}, domain.RefuseAt("$", domain.BadRequest, "position: %q is not what it takes: expected %s", text, expected)
	}
	if _, err := filterOf(r, nil); err != nil {
		return eventDetail{}, err
	}
	e, err := a.history.Get(r.Context(), position)
	if err != nil {
		return eventDetail{}, atURL(err)
	}
	return detailEvent(e), nil
}

func detailEvent(e eventstore.Recorded) eventDetail {
	d := eventDetail{eventBody: showEvent(e), SchemaVersion: e.SchemaVersion, PrevHash: hexBytes(e.PrevHash)}
	d.Objects = touched(d.Changes)
	if d.Batch != nil {
		d.BatchIndex = &e.BatchIndex
	}
	return d
}

// touched gathers the changes of each object: the first says what it was, the
// last what it is. Changes of a form that only a newer release knows are not
// gathered; they are among the changes all the same.
func touched(changes json.RawMessage) []objectBody {
	list := []objectBody{}
	decoded, err := metadata.DecodeChanges(changes)
	if err != nil {
		return list
	}
	places := map[metadata.Key]int{}
	for _, c := range decoded {
		i, known := places[c.Key()]
		if !known {
			i = len(list)
			places[c.Key()] = i
			list = append(list, objectBody{Kind: c.Kind, Key: c.Name, Before: c.Before})
		}
		list[i].After = c.Definition
	}
	return list
}
