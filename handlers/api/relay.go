package api

import (
	"context"

	"annals/domain"
	"annals/handlers/execution"
	"annals/handlers/execution/livequery"
)

// noRelay stands where others have a schema for Relay: its clients are told so in the
// form that they understand, over HTTP and over websockets.
type noRelay struct{}

var errNoRelay = domain.RefuseAt("$", domain.NotSupported, "there is no schema for Relay: ask /v1/graphql, whose schema has no connections")

func (noRelay) Run(context.Context, execution.Request) ([]byte, error) { return nil, errNoRelay }

func (noRelay) Begin(context.Context, execution.Request) (execution.Begun, error) {
	return execution.Begun{}, errNoRelay
}

func (noRelay) Subscribe(context.Context, execution.Request, func()) (*livequery.Subscription, error) {
	return nil, errNoRelay
}
