package api_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
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

func TestAWebsocketIsClosedWhenItsSecretIsRemoved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secrets")
	write := func(text string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write("alice one\nbob two\n")
	who, err := auth.New(auth.Config{SecretsFile: file, SecretsFileInterval: time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { who.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	url := listening(t, api.New(api.Config{}, api.Deps{
		Auth: who, Operations: answering{}, Subscriptions: answering{},
		State: &state{}, Registry: prometheus.NewRegistry(), Log: new(lines).take,
	}))
	with := func(protocol, secret string) client {
		c := dial(t, url, protocol)
		c.says(`{"type":"connection_init","payload":{"headers":{"X-Hasura-Admin-Secret":"` + secret + `","X-Hasura-Role":"user"}}}`)
		c.hears(ack)
		return c
	}
	alices := []client{with("graphql-ws", "one"), with(transport, "one")}
	other, bobs := with("graphql-ws", "one"), with(transport, "two")
	other.says(`{"type":"connection_init","payload":{"headers":{"X-Hasura-Admin-Secret":"two"}}}`)
	other.hears(ack)

	write("bob two\n")
	for _, c := range alices {
		c.isClosed(4403)
	}
	bobs.says(`{"type":"subscribe","id":"a","payload":{"query":"{ role }"}}`)
	bobs.hears(`{"type":"next","id":"a","payload":{"data":{"role":"user"}}}`, `{"type":"complete","id":"a"}`)
	other.says(`{"type":"start","id":"a","payload":{"query":"{ role }"}}`) // it has shown another secret since
	other.hears(`{"type":"data","id":"a","payload":{"data":{"role":"admin"}}}`, `{"type":"complete","id":"a"}`)
}
