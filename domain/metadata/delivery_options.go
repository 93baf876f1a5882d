package metadata

import (
	"slices"
	"strconv"

	"annals/domain"
	"annals/domain/wire"
)

// DeliveryOptions are what a trigger can say about its deliveries beyond v1.3.
// The zero value is v1.3's behaviour, and is not exported.
type DeliveryOptions struct {
	// MaxConcurrency is how many of the trigger's deliveries a node makes at once.
	MaxConcurrency *int `json:"max_concurrency,omitzero"`
	// RateLimit is how many of them a node starts in a second.
	RateLimit *float64 `json:"rate_limit,omitzero"`
	// SigningSecretsFromEnv name the variables of the environment that hold the
	// secrets deliveries are signed with, as Standard Webhooks has it: a
	// signature for each.
	SigningSecretsFromEnv []string `json:"signing_secrets_from_env,omitempty"`
}

// RetryOptions are what a retry_conf can say beyond v1.3.
type RetryOptions struct {
	// Backoff doubles the interval with each attempt; nil keeps it.
	Backoff *Backoff `json:"backoff,omitzero"`
	// NoRetryOn are statuses after which a delivery is not tried again.
	NoRetryOn []int `json:"no_retry_on,omitempty"`
}

// Backoff is how the interval between attempts grows. MaxInterval is in
// seconds; Jitter is the part of the interval, from 0 to 1, that chance may
// take away.
type Backoff struct {
	MaxInterval int     `json:"max_interval"`
	Jitter      float64 `json:"jitter"`
}

// defaultMaxInterval is the longest interval, in seconds, when a backoff does
// not say.
const defaultMaxInterval = 60 * 60

func decodeDeliveryOptions(n wire.Node) DeliveryOptions {
	return DeliveryOptions{
		MaxConcurrency:        wire.Pointer(n.Optional("max_concurrency"), positiveCount),
		RateLimit:             wire.Pointer(n.Optional("rate_limit"), positiveNumber),
		SigningSecretsFromEnv: decodeVariables(n.Optional("signing_secrets_from_env")),
	}
}

func decodeRetryOptions(n wire.Node) RetryOptions {
	var o RetryOptions
	o.Backoff = wire.Pointer(n.Optional("backoff"), decodeBackoff)
	if statuses := n.Optional("no_retry_on"); statuses.Present() {
		o.NoRetryOn = wire.List(statuses, decodeStatus)
	}
	return o
}

func decodeBackoff(n wire.Node) Backoff {
	b := Backoff{MaxInterval: defaultMaxInterval}
	if longest := n.Optional("max_interval"); longest.Present() {
		b.MaxInterval = positiveCount(longest)
	}
	if jitter := n.Optional("jitter"); jitter.Present() {
		b.Jitter = number(jitter)
		if b.Jitter < 0 || b.Jitter > 1 {
			jitter.Fail("expecting a number from 0 to 1")
		}
	}
	return b
}

func decodeStatus(n wire.Node) int {
	status := n.Int()
	if status < 100 || status > 599 {
		n.Fail("%d is not a status of HTTP", status)
	}
	return status
}

func decodeVariables(n wire.Node) []string {
	if !n.Present() {
		return nil
	}
	return slices.Clip(wire.List(n, decodeSecretVariable))
}

func decodeSecretVariable(n wire.Node) string {
	name := n.Text()
	refuseReserved(n, name, "signing_secrets_from_env")
	return name
}

func positiveCount(n wire.Node) int {
	i := count(n)
	if i == 0 {
		n.Fail("expecting a number above 0")
	}
	return i
}

func positiveNumber(n wire.Node) float64 {
	f := number(n)
	if f <= 0 {
		n.Fail("expecting a number above 0")
	}
	return f
}

func number(n wire.Node) float64 {
	f, err := strconv.ParseFloat(string(n.Number()), 64)
	if err != nil && n.Given() {
		n.Fail("the number is too large")
	}
	return f
}

func (o DeliveryOptions) resolve(r *resolver) {
	for _, name := range o.SigningSecretsFromEnv {
		r.env(name)
	}
}

// EventTrigger returns an event trigger that can stand in the world as it is.
func (w World) EventTrigger(name string) (EventTrigger, error) {
	t, known := lookup[EventTrigger](w.Catalog, eventTriggerKey(name))
	if !known || !w.Standing.Stands(t.Key()) {
		return t, refuse(domain.Unexpected, "event trigger '%s' not found", name)
	}
	return t, nil
}

// CronTrigger returns a cron trigger that can stand in the world as it is.
func (w World) CronTrigger(name string) (CronTrigger, error) {
	t, known := lookup[CronTrigger](w.Catalog, cronTriggerKey(name))
	if !known || !w.Standing.Stands(t.Key()) {
		return t, refuse(domain.Unexpected, "cron trigger '%s' not found", name)
	}
	return t, nil
}

// ResolvedWebhook is the address that the trigger calls.
func (t EventTrigger) ResolvedWebhook(env Environment) (string, error) {
	if t.WebhookFromEnv != nil {
		return env.Variable(*t.WebhookFromEnv)
	}
	return ResolveURL(*t.Webhook, env)
}
