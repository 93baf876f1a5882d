package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"annals/domain/delivery"
	"annals/domain/engine/plan"
	"annals/domain/metadata"
	"annals/handlers/api"
	"annals/handlers/execution"
	"annals/handlers/outbound"
	"annals/handlers/workers/deliver"
	"annals/migrations"
	"annals/projections/deliveries"
)

// addressRanges are names of ranges of addresses, separated by commas.
type addressRanges []string

// Decode implements kong's mapper.
func (r *addressRanges) Decode(ctx *kong.DecodeContext) error {
	text, err := textOf(ctx)
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	*r, err = namesIn(text, outbound.Ranges())
	return err
}

// newOutbound is the one door through which HTTP leaves.
func (s *Serve) newOutbound() *outbound.Client {
	return outbound.New(outbound.Config{
		Deny: slices.Clone(s.OutboundDeny), MaxResponse: int64(s.OutboundMaxResponse),
		UserAgent: "annals/" + Version, IdlePerHost: s.EventsPoolSize,
	})
}

// book carries out what commands ask of deliveries.
func (s *Serve) book() deliveries.Book {
	return deliveries.Book{Limits: deliveries.Limits{Redelivered: s.RedeliveryLimit, MaxRedelivered: s.MaxRedelivery}}
}

// newDeliveries is the worker that makes deliveries on this node.
func (a *App) newDeliveries() (*deliver.Worker, error) {
	world := func() metadata.World { return a.live.Current().World }
	hooks := a.webhooks(world)
	senders := map[delivery.Kind]deliver.Sender{}
	for _, kind := range hooks.Kinds() {
		senders[kind] = hooks
	}
	calls := &deliver.Actions{
		Pool: a.db.pool, World: world, LeaseMargin: time.Duration(a.cfg.EventsLeaseMargin), Log: a.log,
		Call: func(ctx context.Context, c execution.ActionCall, out *plan.Output) (execution.ActionAnswer, error) {
			return a.operations.CallAction(ctx, c, out)
		},
	}
	for _, kind := range calls.Kinds() {
		senders[kind] = calls
	}
	config := a.cfg.worker()
	config.Node = nodeName()
	var err error
	if config.Schema, err = migrations.Known(); err != nil {
		return nil, err
	}
	worker, err := deliver.New(deliver.Parts{Pool: a.db.pool, World: world, Senders: senders, Registry: a.registry, Log: a.log}, config)
	if err != nil {
		return nil, fmt.Errorf("make the worker of deliveries: %w", err)
	}
	return worker, nil
}

// webhooks makes the calls of webhooks.
func (a *App) webhooks(world func() metadata.World) *deliver.Webhooks {
	return &deliver.Webhooks{
		Client: a.outbound, World: world, MaxResponse: int64(a.cfg.EventsMaxResponse), ShowEnv: bool(a.cfg.LogHeadersFromEnv),
		LeaseMargin: time.Duration(a.cfg.EventsLeaseMargin), Line: a.deliveryLine, Log: a.log,
	}
}

// deliveryLine writes a line of the log for a try.
func (a *App) deliveryLine(ctx context.Context, l deliver.Line) {
	a.lines(ctx, api.Line{Type: l.Type, Level: slog.LevelInfo, Detail: l.Detail})
}

// nodeName is a name that no other node has, and that tells where it runs.
func nodeName() string {
	host, _ := os.Hostname() // of a machine that has no name, the id is enough
	return cmp.Or(host, "node") + "-" + uuid.NewString()[:8]
}
