package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/api"
	"annals/handlers/api/auth"
)

// until lets everybody in, for as long as the header Until says.
type until struct{}

func (until) Authenticate(_ context.Context, h http.Header) (auth.Caller, error) {
	caller := auth.Caller{Session: domain.Session{Role: h.Get("X-Hasura-Role"), Variables: map[string]string{"x-service-role": h.Get("X-Hasura-Role")}}}
	if long, err := time.ParseDuration(h.Get("Until")); err == nil {
		caller.Expires = time.Now().Add(long)
	}
	return caller, nil
}

func expiring(t *testing.T, log *lines) (url string) {
	t.Helper()
	return listening(t, api.New(api.Config{}, api.Deps{
		Auth: until{}, Operations: answering{}, Subscriptions: answering{},
		State: &state{}, Registry: prometheus.NewRegistry(), Log: log.take,
	}))
}

func introducing(role, until string) string {
	return `{"type":"connection_init","payload":{"headers":{"X-Hasura-Role":"` + role + `","Until":"` + until + `"}}}`
}

func TestAWebsocketIsClosedWhenWhatWasShownExpires(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"graphql-ws", transport} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			log := new(lines)
			c := dial(t, expiring(t, log), protocol)
			c.says(introducing("user", "50ms"))
			c.hears(ack)
			c.isClosed(4403)
			require.Eventually(t, func() bool { return len(log.ofType(t, api.LineWebSocket)) == 2 }, soon, tick)
			require.NotNil(t, log.ofType(t, api.LineWebSocket)[1]["connection_info"].(map[string]any)["token_expiry"])
		})
	}
}
