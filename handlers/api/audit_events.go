package api

import (
	"context"
	"net/http"

	"annals/eventstore"
)

// Limits of a page of the audit.
const (
	DefaultPageEvents = 50
	MaxPageEvents     = 500
	// MaxPageBytes ends a page early once its events hold this much: what an
	// event holds is bounded by [Config.MaxBodyBytes] alone.
	MaxPageBytes = 16 << 20
)

// chunkEvents is how many events are read at a time, and so the most that a
// page can hold above MaxPageBytes.
const chunkEvents = 25

// pageBody is a page of events, newest first. Next asks for the page after it,
// as the parameter cursor; null: there is none.
type pageBody struct {
	Events []eventBody `json:"events"`
	Next   *int64      `json:"next"`
}

// auditEvents answers GET /v1/audit/events.
func (a *API) auditEvents(w http.ResponseWriter, r *http.Request) {
	filter, err := filterOf(r, eventParameters)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.showPage(w, r, filter)
}

// showPage answers with the events that a filter lets through.
func (a *API) showPage(w http.ResponseWriter, r *http.Request, filter eventstore.Filter) {
	page, err := a.page(r.Context(), filter)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.succeed(w, r, encode(page))
}

// page reads events until there are as many as were asked for, or a page holds
// no more. It looks one event further, to know whether another page follows.
func (a *API) page(ctx context.Context, filter eventstore.Filter) (pageBody, error) {
	body := pageBody{Events: []eventBody{}}
	wanted, size := filter.Limit, 0
	for {
		filter.Limit = min(chunkEvents, wanted-len(body.Events)+1)
		found, err := a.history.Find(ctx, filter)
		if err != nil {
			return pageBody{}, err
		}
		for _, e := range found {
			if len(body.Events) == wanted || size > MaxPageBytes {
				body.Next = &filter.Before
				return body, nil
			}
			body.Events = append(body.Events, showEvent(e))
			size += len(e.Args) + len(e.Changes)
			filter.Before = e.Position
		}
		if len(found) < filter.Limit {
			return body, nil
		}
	}
}
