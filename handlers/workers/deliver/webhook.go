package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"annals/domain"
	"annals/domain/delivery"
	"annals/domain/metadata"
	"annals/handlers/outbound"
)

// Webhooks sends the deliveries of event triggers, of cron triggers, and of
// one-off events.
type Webhooks struct {
	Client *outbound.Client
	// World gives the metadata of the moment.
	World func() metadata.World
	// MaxResponse is how many bytes of an answer are remembered. 0: the client's.
	MaxResponse int64
	// ShowEnv remembers the values of headers that come from the environment.
	ShowEnv bool
	// LeaseMargin is what leases have beyond the timeout. One with less than half
	// of it left is made longer before the webhook is called.
	LeaseMargin time.Duration
	// Line takes a line of the log for each try. Nil: none is written.
	Line func(ctx context.Context, l Line)
	Log  *slog.Logger
}

// Kinds are the deliveries that it sends.
func (Webhooks) Kinds() []delivery.Kind {
	return []delivery.Kind{delivery.Event, delivery.Manual, delivery.Test, delivery.Cron, delivery.Scheduled}
}

// Line is what the log tells of one try.
type Line struct {
	Type   string
	Detail any
}

// Send implements [Sender].
func (s *Webhooks) Send(ctx context.Context, j Job) Attempt {
	if j.Gone {
		return Attempt{Dropped: "its record is gone"}
	}
	plan, err := delivery.PlanOf(j.Delivery, s.World())
	if err != nil && !plan.Known {
		s.Log.Error("a delivery waits for its trigger", "delivery", j.ID, "again_in", delivery.Unknown.String(), "error", reasonOf(err))
		return Attempt{Unknown: reasonOf(err), Delay: delivery.Unknown}
	}
	if plan.Policy.TooLate(j.DueAt, j.Claimed) {
		return Attempt{Dropped: fmt.Sprintf("it was due %s ago, and may be at most %s late",
			j.Claimed.Sub(j.DueAt).Round(time.Second), plan.Policy.Tolerance)}
	}
	if err := j.Hold(ctx, plan.Policy.Timeout+s.LeaseMargin/2); err != nil {
		s.Log.Warn("a delivery is left to others", "delivery", j.ID, "error", err)
		return Attempt{Given: true}
	}
	return s.try(ctx, j, plan, err)
}

// try calls the webhook. What cannot be resolved fails like what does not answer.
func (s *Webhooks) try(ctx context.Context, j Job, plan delivery.Plan, unresolved error) Attempt {
	started := time.Now()
	request := delivery.Compose(j.Delivery, plan, j.Tries, started)
	a := Attempt{Started: started, Request: delivery.RequestLog(j.Kind, request, plan, s.Client.UserAgent(), s.ShowEnv)}
	answer := delivery.Answer{Status: delivery.NoAnswer}
	response, err := outbound.Response{}, unresolved
	if err == nil {
		response, err = s.Client.Send(ctx, outbound.Request{
			URL: request.URL, Header: headerOf(request.Header), Body: request.Body, Timeout: request.Timeout, MaxResponse: s.MaxResponse,
		})
	}
	a.Finished = time.Now()
	var failed *outbound.Error
	switch {
	case errors.As(err, &failed) && failed.Kind == outbound.Cancelled:
		return Attempt{Given: true}
	case err != nil:
		a.Response = delivery.FailureLog(j.Kind, reasonOf(err))
	default:
		answer = delivery.Answer{Status: response.Status, RetryAfter: response.Header.Get("Retry-After")}
		a.Response = delivery.AnswerLog(j.Kind, response.Status, fieldsOf(response.Header), response.Body, response.Truncated)
	}
	a.Status = answer.Status
	next := delivery.Decide(plan.Policy, j.Tries, answer, rand.Float64())
	a.Outcome, a.Delay = next.Outcome, next.Delay
	s.tell(ctx, j, a, len(request.Body), err)
	return a
}

// reasonOf is what went wrong. A refusal's path leads into a call that nobody makes here.
func reasonOf(err error) string {
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		return refusal.Message
	}
	return err.Error()
}

// headersOfClient is how many headers the client adds.
const headersOfClient = 2

func headerOf(fields []delivery.Field) http.Header {
	h := make(http.Header, len(fields)+headersOfClient)
	values := make([]string, len(fields)) // of all headers, in one piece
	for i, f := range fields {
		name := http.CanonicalHeaderKey(f.Name)
		values[i] = f.Value
		if before, again := h[name]; again {
			h[name] = append(before, f.Value)
		} else {
			h[name] = values[i : i+1 : i+1]
		}
	}
	return h
}

func fieldsOf(h http.Header) []delivery.Field {
	fields := make([]delivery.Field, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fields = append(fields, delivery.Field{Name: name, Value: value})
		}
	}
	return fields
}

// detail is what a line tells, in the form of v1.3.
type detail struct {
	Response responseDetail `json:"response"`
	Request  requestDetail  `json:"request"`
	Context  contextDetail  `json:"context"`
}

// responseDetail has a status, or why there is none.
type responseDetail struct {
	Status int    `json:"status,omitzero"`
	Error  string `json:"error,omitzero"`
}

type requestDetail struct {
	Size int `json:"size"`
}

type contextDetail struct {
	EventID      string     `json:"event_id"`
	EventCreated *time.Time `json:"event_created_at,omitempty"`
	Trigger      string     `json:"trigger,omitempty"`
	Outcome      string     `json:"outcome"`
}

func (s *Webhooks) tell(ctx context.Context, j Job, a Attempt, size int, err error) {
	if s.Line == nil {
		return
	}
	d := detail{Response: responseDetail{Status: a.Status}, Request: requestDetail{size}, Context: contextDetail{EventID: j.ID, Trigger: j.Trigger, Outcome: a.result()}}
	if err != nil {
		d.Response = responseDetail{Error: reasonOf(err)}
	}
	line := Line{Type: "scheduled-trigger", Detail: &d}
	if j.Kind.OfEventTrigger() {
		line.Type, d.Context.EventCreated = "event-trigger", &j.CreatedAt
	}
	s.Line(ctx, line)
}
