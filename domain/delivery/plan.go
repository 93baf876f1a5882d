package delivery

import (
	"encoding/json"
	"fmt"

	"annals/domain/metadata"
)

// Plan is what is said now about how a delivery is made.
type Plan struct {
	// Known says that the trigger is there and can stand.
	Known   bool
	Policy  Policy
	Webhook string
	Headers []Header
	Secrets []string // that it is signed with
	Comment *string
}

// Header is a header with its value, and the variable of the environment that
// the value is from, if any.
type Header struct{ Name, Value, FromEnv string }

// PlanOf is the plan of a delivery in the world as it is. With an error, no try
// can be made where the plan is not known; otherwise the webhook cannot be
// called, which is a try that failed.
func PlanOf(d Delivery, w metadata.World) (Plan, error) {
	switch {
	case d.Kind.OfEventTrigger():
		return planOfEvent(d.Trigger, w)
	case d.Kind == Cron:
		return planOfCron(d.Trigger, w)
	case d.Kind == Scheduled:
		return planOfScheduled(d.Definition, w.Env)
	}
	return Plan{}, fmt.Errorf("a delivery of kind %q is no webhook", d.Kind)
}

func planOfEvent(name string, w metadata.World) (Plan, error) {
	t, err := w.EventTrigger(name)
	if err != nil {
		return Plan{}, err
	}
	webhook, err := t.ResolvedWebhook(w.Env)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Known: true, Policy: eventPolicy(t.RetryConf), Webhook: webhook}
	return p, p.fill(t.Headers, t.SigningSecretsFromEnv, w.Env)
}

func planOfCron(name string, w metadata.World) (Plan, error) {
	t, err := w.CronTrigger(name)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Known: true, Policy: schedulePolicy(t.RetryConf), Comment: t.Comment}
	if p.Webhook, err = metadata.ResolveURL(t.Webhook, w.Env); err != nil {
		return p, err
	}
	return p, p.fill(t.Headers, t.SigningSecretsFromEnv, w.Env)
}

// OneOff is the definition of a one-off event, as its delivery keeps it.
type OneOff struct {
	Webhook   string                     `json:"webhook"`
	Headers   []metadata.Header          `json:"headers"`
	RetryConf metadata.ScheduleRetryConf `json:"retry_conf"`
	Comment   *string                    `json:"comment,omitzero"`
}

func planOfScheduled(definition json.RawMessage, env metadata.Environment) (Plan, error) {
	var o OneOff
	if err := json.Unmarshal(definition, &o); err != nil {
		return Plan{}, fmt.Errorf("read the definition of a one-off event: %w", err)
	}
	p := Plan{Known: true, Policy: schedulePolicy(o.RetryConf), Comment: o.Comment}
	var err error
	if p.Webhook, err = metadata.ResolveURL(o.Webhook, env); err != nil {
		return p, err
	}
	return p, p.fill(o.Headers, nil, env)
}

// fill looks up what the environment holds.
func (p *Plan) fill(headers []metadata.Header, secrets []string, env metadata.Environment) error {
	values, err := metadata.ResolveHeaders(headers, env)
	if err != nil {
		return err
	}
	for i, h := range values {
		p.Headers = append(p.Headers, Header{h.Name, h.Value, pointed(headers[i].ValueFromEnv)})
	}
	for _, name := range secrets {
		secret, err := env.Variable(name)
		if err != nil {
			return err
		}
		p.Secrets = append(p.Secrets, secret)
	}
	return nil
}

func pointed(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Limits are what a lane's trigger says about how many of its deliveries are
// made at once, and how many are started in a second. Zero: no word.
type Limits struct {
	Concurrency int
	Rate        float64
}

// LimitsOf are the limits of a trigger's deliveries.
func LimitsOf(k Kind, trigger string, w metadata.World) Limits {
	var o metadata.DeliveryOptions
	if k == Cron {
		t, _ := w.CronTrigger(trigger)
		o = t.DeliveryOptions
	} else if k.OfEventTrigger() {
		t, _ := w.EventTrigger(trigger)
		o = t.DeliveryOptions
	}
	var l Limits
	if o.MaxConcurrency != nil {
		l.Concurrency = *o.MaxConcurrency
	}
	if o.RateLimit != nil {
		l.Rate = *o.RateLimit
	}
	return l
}
