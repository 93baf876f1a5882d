package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"annals/projections/deliveries"
)

// Deliveries is the book of webhook deliveries, for those who look at it.
type Deliveries interface {
	Find(context.Context, deliveries.Filter) ([]deliveries.Delivery, error)
	Story(ctx context.Context, id string) (deliveries.Story, error)
}

// deliveryBody is a delivery as it is now.
type deliveryBody struct {
	EventID   uuid.UUID   `json:"event_id"`
	Kind      string      `json:"kind"`
	Trigger   *string     `json:"trigger"`
	Table     *tableBody  `json:"table"`
	State     string      `json:"state"`
	Round     int         `json:"round"`
	Tries     int         `json:"tries"`
	Status    *int        `json:"status"`
	DueAt     recordedAt  `json:"due_at"`
	CreatedAt recordedAt  `json:"created_at"`
	NextAt    *recordedAt `json:"next_at"`
	Reason    *string     `json:"reason"`
}

type tableBody struct {
	Schema string `json:"schema"`
	Name   string `json:"name"`
}

func showDelivery(d deliveries.Delivery) deliveryBody {
	b := deliveryBody{
		EventID: d.ID, Kind: d.Kind, Trigger: unlessZero(d.Trigger), State: d.State, Round: d.Round, Tries: d.Tries, Status: d.Status,
		DueAt: recordedAt(d.DueAt), CreatedAt: recordedAt(d.CreatedAt), NextAt: (*recordedAt)(d.NextAt), Reason: d.Reason,
	}
	if d.Schema != nil && d.Table != nil {
		b.Table = &tableBody{*d.Schema, *d.Table}
	}
	return b
}

// deliveryPage is a page of deliveries, the latest first. Next asks for the page
// after it, as the parameter cursor; null: there is none.
type deliveryPage struct {
	Deliveries []deliveryBody `json:"deliveries"`
	Next       *string        `json:"next"`
}

// deliveryParameters are the parameters of a list of deliveries. Without "until"
// and "state", what is due in the future is left out.
var deliveryParameters = []parameterOf[deliveries.Filter]{
	{"type", func(f *deliveries.Filter, value string) string {
		return oneOf(&f.Kind, value, "event", "manual", "test", "cron", "scheduled")
	}},
	{"trigger", func(f *deliveries.Filter, value string) string { f.Trigger = value; return "" }},
	{"state", func(f *deliveries.Filter, value string) string {
		for state := range strings.SplitSeq(value, ",") {
			var known string
			if expected := oneOf(&known, state, "pending", "retrying", "leased", "delivered", "failed", "dropped", "cancelled"); expected != "" {
				return expected
			}
			f.States = append(f.States, known)
		}
		return ""
	}},
	{"since", func(f *deliveries.Filter, value string) string {
		f.Since = new(time.Time)
		return parseTime(f.Since, value)
	}},
	{"until", func(f *deliveries.Filter, value string) string {
		f.Until = new(time.Time)
		return parseTime(f.Until, value)
	}},
	{"cursor", func(f *deliveries.Filter, value string) string {
		mark, ok := parseMark(value)
		if !ok {
			return "the \"next\" of a page"
		}
		f.After = &mark
		return ""
	}},
	{"limit", func(f *deliveries.Filter, value string) string { return parseLimit(&f.Limit, value) }},
}

func oneOf(to *string, value string, known ...string) (expected string) {
	if !slices.Contains(known, value) {
		return "one of " + strings.Join(known, ", ")
	}
	*to = value
	return ""
}

func parseLimit(to *int, value string) (expected string) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > MaxPageEvents {
		return "a whole number from 1 to " + strconv.Itoa(MaxPageEvents)
	}
	*to = n
	return ""
}

func formatMark(d deliveries.Delivery) string {
	return d.DueAt.UTC().Format(time.RFC3339Nano) + "_" + d.ID.String()
}

func parseMark(text string) (m deliveries.Mark, ok bool) {
	due, id, _ := strings.Cut(text, "_")
	if parseTime(&m.DueAt, due) != "" {
		return m, false
	}
	var err error
	m.ID, err = uuid.Parse(id)
	return m, err == nil
}

// auditDeliveries answers GET /v1/audit/deliveries.
func (a *API) auditDeliveries(w http.ResponseWriter, r *http.Request) {
	filter := deliveries.Filter{Limit: DefaultPageEvents}
	if err := readParameters(r, deliveryParameters, &filter); err != nil {
		a.refuse(w, r, err)
		return
	}
	if filter.Until == nil && filter.States == nil {
		now := time.Now()
		filter.Until = &now
	}
	page, err := a.deliveryPage(r.Context(), filter)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.succeed(w, r, encode(page))
}

// deliveryPage looks one delivery further, to know whether another page follows.
func (a *API) deliveryPage(ctx context.Context, filter deliveries.Filter) (deliveryPage, error) {
	page, wanted := deliveryPage{Deliveries: []deliveryBody{}}, filter.Limit
	filter.Limit++
	found, err := a.deliveries.Find(ctx, filter)
	if err != nil {
		return page, err
	}
	if len(found) > wanted {
		found = found[:wanted]
		next := formatMark(found[wanted-1])
		page.Next = &next
	}
	for _, d := range found {
		page.Deliveries = append(page.Deliveries, showDelivery(d))
	}
	return page, nil
}

// storyBody is all that is known of a delivery: what asked for it or planned it,
// under which version of the catalog, each attempt and decision, and what comes
// next.
type storyBody struct {
	deliveryBody
	// Catalog is the version under which it was captured, planned or asked for.
	Catalog    int64           `json:"catalog_version"`
	Definition *askedBody      `json:"defined_by"` // the trigger's last change before it
	Asked      *askedBody      `json:"asked_by"`   // the command that asked for it
	Payload    json.RawMessage `json:"payload"`
	OneOff     json.RawMessage `json:"definition"` // of a one-off event
	Entries    []entryBody     `json:"history"`
	Next       nextBody        `json:"next"`
}

// askedBody is the event of the history that stands behind something.
type askedBody struct {
	Position   int64           `json:"position"`
	Type       string          `json:"type"`
	Actor      json.RawMessage `json:"actor"`
	Comment    *string         `json:"comment"`
	RecordedAt recordedAt      `json:"recorded_at"`
}

// entryBody is one attempt, or one decision.
type entryBody struct {
	ID         uuid.UUID       `json:"id"`
	Entry      string          `json:"entry"`
	Outcome    *string         `json:"outcome"`
	Round      int             `json:"round"`
	Attempt    int             `json:"attempt"`
	Status     *int            `json:"status"`
	Request    json.RawMessage `json:"request"`
	Response   json.RawMessage `json:"response"`
	Reason     *string         `json:"reason"`
	Node       *string         `json:"node"`
	StartedAt  *recordedAt     `json:"started_at"`
	RecordedAt recordedAt      `json:"recorded_at"`
	Duration   *float64        `json:"duration_ms"`
	NextDueAt  *recordedAt     `json:"next_due_at"`
	Asked      *askedBody      `json:"asked_by"`
}

// nextBody is what will happen.
type nextBody struct {
	// Action is attempt, or outcome while one is on its way, or nothing.
	Action string `json:"action"`
	// At is when, or for an outcome when it is given up.
	At *recordedAt `json:"at"`
	// Paused is why it waits all the same.
	Paused *string `json:"paused"`
}
