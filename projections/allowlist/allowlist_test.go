package allowlist_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
	"annals/projections/allowlist"
)

// history is a catalog that commands change.
type history struct {
	t        *testing.T
	world    metadata.World
	position int64
	live     *allowlist.Live
}

func newHistory(t *testing.T, commands ...string) *history {
	h := &history{t: t, world: metadata.NewWorld(metadata.Catalog{}, database.Shape{}, nil)}
	h.live = allowlist.NewLive(func() metadata.World { return h.world })
	for _, c := range commands {
		h.do(c)
	}
	return h
}

func (h *history) do(body string) {
	h.t.Helper()
	req, err := metadata.Parse([]byte(body))
	require.NoError(h.t, err)
	h.position++
	decision, err := metadata.Decide(h.world, h.position, req.Command.(metadata.Decider))
	require.NoError(h.t, err, body)
	h.world = decision.World
}

func (h *history) allows(text string) bool {
	h.t.Helper()
	ok, err := h.live.Current().Allows(text)
	require.NoError(h.t, err)
	return ok
}

const (
	create  = `{"type":"create_query_collection","args":{"name":"c","definition":{"queries":[{"name":"a","query":"query A { user { id name __typename } }"}]}}}`
	another = `{"type":"create_query_collection","args":{"name":"d","definition":{"queries":[{"name":"d","query":"{ d }"}]}}}`
	allow   = `{"type":"add_collection_to_allowlist","args":{"collection":"c"}}`
)

func TestOnlyCollectionsInTheAllowListCount(t *testing.T) {
	h := newHistory(t, create, another)
	require.False(t, h.allows("query A { user { id name } }"))
	h.do(allow)
	require.True(t, h.allows("query A { user { name id } }"))
	require.False(t, h.allows("query A { user { name id secret } }"))
	require.False(t, h.allows("query B { user { name id } }"))
	require.False(t, h.allows("{ d }"))
	h.do(`{"type":"drop_collection_from_allowlist","args":{"collection":"c"}}`)
	require.False(t, h.allows("query A { user { name id } }"))
}

func TestAChangedCollectionCountsAtOnce(t *testing.T) {
	h := newHistory(t, create, allow)
	require.True(t, h.allows("query A { user { id name } }"))
	h.do(`{"type":"drop_query_from_collection","args":{"collection_name":"c","query_name":"a"}}`)
	require.False(t, h.allows("query A { user { id name } }"), "a text that was allowed is not remembered beyond its set")
	h.do(`{"type":"add_query_to_collection","args":{"collection_name":"c","query_name":"b","query":"{ b }"}}`)
	require.True(t, h.allows("{ b }"))
}

func TestOtherChangesLeaveTheSetAsItIs(t *testing.T) {
	h := newHistory(t, create, another, allow)
	before := h.live.Current()
	require.Same(t, before, h.live.Current())
	h.do(`{"type":"add_query_to_collection","args":{"collection_name":"d","query_name":"e","query":"{ e }"}}`)
	require.Same(t, before, h.live.Current())
	h.do(`{"type":"add_query_to_collection","args":{"collection_name":"c","query_name":"e","query":"{ e }"}}`)
	require.NotSame(t, before, h.live.Current())
}

func TestASetThatFollowedIsTheSetMadeAnew(t *testing.T) {
	h := newHistory(t, create, another, allow, `{"type":"add_collection_to_allowlist","args":{"collection":"d"}}`)
	require.True(t, h.allows("{ d }"))
	h.do(`{"type":"drop_query_collection","args":{"collection":"c","cascade":true}}`)
	for _, text := range []string{"{ d }", "query A { user { id name } }"} {
		anew, err := allowlist.New(h.world).Allows(text)
		require.NoError(t, err)
		require.Equal(t, anew, h.allows(text), text)
	}
}

func TestTextThatIsNoDocumentIsAnError(t *testing.T) {
	_, err := newHistory(t).live.Current().Allows("{")
	require.Error(t, err)
	var refused *domain.Error
	require.NotErrorAs(t, err, &refused, "how it is refused is for the caller to say")
}

func TestMoreTextsThanAreRememberedAreAllowed(t *testing.T) {
	h := newHistory(t, create, allow)
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			set := h.live.Current()
			for i := range allowlist.MaxKnownTexts / 2 {
				ok, err := set.Allows(fmt.Sprintf("# %d %d\nquery A { user { id name } }", client, i))
				if err != nil || !ok {
					t.Errorf("client %d, text %d: %t, %v", client, i, ok, err)
					return
				}
			}
		})
	}
	clients.Wait()
}
