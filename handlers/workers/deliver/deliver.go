// Package deliver makes the webhook deliveries that are due.
//
// Every node runs a [Worker], and none is in charge. What is to be tried lies
// in annals.delivery_queue; a [Subscriber] leases rows of it and hands them to
// a Watermill router as messages, whose handler calls the webhook and says what
// came of it; outcomes are collected for a moment and written together:
//
//	annals.delivery_queue --claim--> message --router--> Sender --> webhook
//	        ^                                               |
//	        +------ record: history and queue row <---------+
//
// What always holds:
//
//   - No transaction is open, and no connection is held, while a webhook is
//     being called. A claim and a record are one statement each.
//   - Slots belong to lanes, and a lane is a trigger's: an endpoint that hangs
//     fills its own. No more is claimed than can be started now, or while the
//     next claim runs, by what the lane's last deliveries took.
//   - A lease is the trigger's timeout and a margin. A node that dies lets its
//     leases run out, and whoever claims next is the rescuer: at least once,
//     never lost, never stuck. A node that stops gives back what it has.
//   - An outcome counts only while its lease is held, so a late one never
//     writes over what another node did since.
//   - A node whose database was migrated by a newer program claims nothing any
//     more.
//   - Where a row has an ordering key, those behind it in the line wait until
//     it is over.
//
// A delivery whose trigger is not known, or cannot stand, rests for
// [delivery.Unknown]; no try is counted.
//
// What a trigger's max_concurrency and rate_limit bound, they bound on each node.
package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/components/metrics"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"annals/domain/delivery"
	"annals/domain/metadata"
)

// Defaults of [Config].
const (
	DefaultSlots         = 100
	DefaultMaxInFlight   = 10_000
	DefaultFetchInterval = time.Second
	DefaultGrace         = 20 * time.Second
	DefaultLeaseMargin   = 30 * time.Second
)

// Config is how a worker works. Zero values take the defaults.
type Config struct {
	// Node names this node in leases and in the history. No two that run may
	// have the same.
	Node string
	// Schema is the newest version of the schema annals that this program knows.
	// Where the database is ahead of it, a newer program's node makes the
	// deliveries. Zero: any will do.
	Schema int
	// Slots is how many deliveries of one lane are made at once.
	Slots int
	// MaxInFlight is how many are made at once in all lanes together.
	MaxInFlight int
	// FetchInterval is the longest time between two looks at the queue.
	FetchInterval time.Duration
	// Grace is how long deliveries on their way may take to end when the worker
	// stops; what is not over then is given back.
	Grace time.Duration
	// LeaseMargin is what a lease has beyond the trigger's timeout.
	LeaseMargin time.Duration
}

// Parts are what a worker works with.
type Parts struct {
	Pool *pgxpool.Pool
	// World gives the metadata of the moment.
	World func() metadata.World
	// Senders make the tries, each those of its kinds.
	Senders map[delivery.Kind]Sender
	// Registry takes the metrics; nil: none are kept.
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Sender makes one try at a delivery.
type Sender interface {
	Send(ctx context.Context, j Job) Attempt
}

// Worker makes the deliveries of one node.
type Worker struct {
	parts      Parts
	config     Config
	subscriber *Subscriber
	router     *message.Router
	meters     *meters
}

// New makes a worker, which does nothing before it is run.
func New(p Parts, c Config) (*Worker, error) {
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	w := &Worker{parts: p, config: c, meters: newMeters(p.Registry, p.Pool)}
	var err error
	w.subscriber, err = NewSubscriber(p.Pool, SubscriberConfig{Config: c, Limits: w.limits, Lease: w.lease, Log: p.Log, settled: true, meters: w.meters})
	if err != nil {
		return nil, err
	}
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: c.Grace + time.Minute}, words{p.Log})
	if err != nil {
		return nil, fmt.Errorf("make the router of deliveries: %w", err)
	}
	w.router = router
	router.AddMiddleware(inTurn)
	if p.Registry != nil {
		builder := metrics.NewPrometheusMetricsBuilder(p.Registry, "annals", "deliveries")
		router.AddMiddleware(builder.NewRouterMiddleware().Middleware)
	}
	router.AddMiddleware(w.fails, middleware.Recoverer)
	router.AddConsumerHandler("deliver", AllLanes, w.subscriber, w.handle)
	return w, nil
}

// Run makes deliveries until the context ends, and then lets those on their
// way come to their end.
func (w *Worker) Run(ctx context.Context) error {
	// The router waits for its handlers before it closes the subscriber, and it
	// is the subscriber that ends them.
	context.AfterFunc(ctx, w.Close)
	err := w.router.Run(ctx)
	if closed := w.subscriber.Close(); closed != nil {
		err = errors.Join(err, closed)
	}
	return err
}

// Close ends the worker, whether it was run or not.
func (w *Worker) Close() { _ = w.subscriber.Close() }

// Wake says that something was queued on this node just now.
func (w *Worker) Wake() { w.subscriber.Wake() }

// handle is the router's handler: it makes the try. The message is always
// acknowledged, since what is next stands in the outcome.
func (w *Worker) handle(m *message.Message) error {
	p := passageOf(m)
	sender := w.parts.Senders[p.job.Kind]
	if sender == nil {
		p.end(Attempt{Delay: delivery.Unknown, Unknown: fmt.Sprintf("nobody sends deliveries of kind %q", p.job.Kind)})
		return nil
	}
	p.end(sender.Send(m.Context(), p.job))
	return nil
}

// inTurn handles messages that have a slot.
func inTurn(h message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		if !passageOf(m).inTurn() {
			return nil, nil
		}
		deepen(0)
		return h(m)
	}
}

// deepen makes the stack as deep at once as a call over HTTP needs it. Each
// message has a goroutine of its own, whose stack would else be copied to one
// twice as deep again and again.
//
//go:noinline
func deepen(i int) byte {
	if i == 0 {
		return 0 // without clearing the room
	}
	var room [12 << 10]byte
	return room[i]
}

// fails makes a failed try of a handler that broke down.
func (w *Worker) fails(h message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		if _, err := h(m); err != nil {
			p := passageOf(m)
			w.parts.Log.Error("a delivery broke down", "delivery", p.job.ID, "error", err)
			p.end(broken(p.job, w.parts.World()))
		}
		return nil, nil
	}
}

// limits are how many deliveries of a lane may be made.
func (w *Worker) limits(lane string) delivery.Limits {
	kind, trigger := splitLane(lane)
	return delivery.LimitsOf(kind, trigger, w.parts.World())
}

// lease is how long the deliveries of a lane may take.
func (w *Worker) lease(lane string) time.Duration {
	kind, trigger := splitLane(lane)
	plan, _ := delivery.PlanOf(delivery.Delivery{Kind: kind, Trigger: trigger}, w.parts.World())
	return plan.Policy.Timeout
}
