package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
	"annals/projections/deliveries"
)

// auditDelivery answers GET /v1/audit/deliveries/{event_id}.
func (a *API) auditDelivery(w http.ResponseWriter, r *http.Request) {
	body, err := a.storyOf(r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.succeed(w, r, encode(body))
}

func (a *API) storyOf(r *http.Request) (storyBody, error) {
	id, err := pathText(r, "event_id")
	if err != nil {
		return storyBody{}, err
	}
	if _, err := filterOf(r, nil); err != nil {
		return storyBody{}, err
	}
	s, err := a.deliveries.Story(r.Context(), id)
	var missing deliveries.NotFound
	if errors.As(err, &missing) {
		return storyBody{}, &noSuchResource{missing.Error()}
	}
	if err != nil {
		return storyBody{}, err
	}
	return a.tellStory(r.Context(), s)
}

// tellStory puts beside a delivery what the history says about it.
func (a *API) tellStory(ctx context.Context, s deliveries.Story) (storyBody, error) {
	b := storyBody{
		deliveryBody: showDelivery(s.Delivery), Payload: s.Payload, OneOff: s.Definition,
		Entries: []entryBody{}, Next: nextOf(s),
	}
	if err := a.tellOrigin(ctx, s, &b); err != nil {
		return b, err
	}
	for _, e := range s.Entries {
		entry := showEntry(e)
		var err error
		if entry.Asked, err = a.askedAt(ctx, e.Position); err != nil {
			return b, err
		}
		b.Entries = append(b.Entries, entry)
	}
	return b, nil
}

// tellOrigin finds the version of the catalog that a delivery was made under:
// the head when its row was captured, or the command's own.
func (a *API) tellOrigin(ctx context.Context, s deliveries.Story, b *storyBody) error {
	var err error
	if b.Catalog, err = a.versionOf(ctx, s); err != nil {
		return err
	}
	if s.Kind != metadata.TypeCron {
		if b.Asked, err = a.askedAt(ctx, s.Position); err != nil {
			return err
		}
	}
	b.Definition, err = a.definedBy(ctx, s, b.Catalog)
	return err
}

func (a *API) versionOf(ctx context.Context, s deliveries.Story) (int64, error) {
	if s.Position != nil {
		return *s.Position, nil
	}
	newest, err := a.history.Find(ctx, eventstore.Filter{Until: s.CreatedAt.Add(time.Microsecond), Limit: 1})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return newest[0].Position, nil
}

// definedBy is the last change of a delivery's trigger up to a version.
func (a *API) definedBy(ctx context.Context, s deliveries.Story, version int64) (*askedBody, error) {
	if s.Trigger == "" {
		return nil, nil
	}
	kind := metadata.KindEventTrigger
	if s.Kind == metadata.TypeCron {
		kind = metadata.KindCronTrigger
	}
	object := &eventstore.Object{Kind: string(kind), Key: domain.JoinKey(s.Trigger)}
	found, err := a.history.Find(ctx, eventstore.Filter{Object: object, Before: version + 1, Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return showAsked(found[0]), nil
}

func (a *API) askedAt(ctx context.Context, position *int64) (*askedBody, error) {
	if position == nil {
		return nil, nil
	}
	e, err := a.history.Get(ctx, *position)
	if err != nil {
		return nil, err
	}
	return showAsked(e), nil
}

func showAsked(e eventstore.Recorded) *askedBody {
	return &askedBody{Position: e.Position, Type: e.Type, Actor: e.Actor, Comment: unlessZero(e.Comment), RecordedAt: recordedAt(e.RecordedAt)}
}

func showEntry(e deliveries.Entry) entryBody {
	b := entryBody{
		ID: e.ID, Entry: e.Entry, Outcome: e.Outcome, Round: e.Round, Attempt: e.Attempt, Status: e.Status,
		Request: e.Request, Response: e.Response, Reason: e.Reason, Node: e.Node,
		StartedAt: (*recordedAt)(e.StartedAt), RecordedAt: recordedAt(e.RecordedAt), NextDueAt: (*recordedAt)(e.NextDueAt),
	}
	if e.StartedAt != nil {
		took := float64(e.RecordedAt.Sub(*e.StartedAt).Microseconds()) / 1000
		b.Duration = &took
	}
	return b
}

func nextOf(s deliveries.Story) nextBody {
	switch {
	case s.NextAt == nil:
		return nextBody{Action: "nothing"}
	case s.State == "leased":
		return nextBody{Action: "outcome", At: (*recordedAt)(s.NextAt)}
	}
	return nextBody{Action: "attempt", At: (*recordedAt)(s.NextAt), Paused: s.Paused}
}
