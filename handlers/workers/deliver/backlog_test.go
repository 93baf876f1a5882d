package deliver

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatABurstOrABusySlotLooksLikeIsNoBacklog(t *testing.T) {
	var lines bytes.Buffer
	b := newBacklog(slog.New(slog.NewTextHandler(&lines, nil)), time.Second)
	now := time.Unix(0, 0)
	after := func(wait time.Duration, l look) {
		now = now.Add(wait)
		b.looked(l, now)
	}
	full := look{lanes: []string{"a"}, all: true}
	taken := look{lanes: []string{"b"}, leases: []lease{{lane: "b", slots: 1}}, jobs: []Job{{Lane: "b"}}}
	free := look{lanes: []string{"a"}, all: true, leases: []lease{{lane: "a", slots: 2}}, jobs: []Job{{Lane: "a"}}}
	for range 20 { // a burst is over before long
		after(20*time.Millisecond, full)
	}
	after(0, free)
	for range fullLooks { // a look now and then says little
		after(time.Minute, full)
	}
	after(0, look{all: true}) // nothing is due
	require.Empty(t, lines.String())

	for range 10 {
		after(time.Second, full)
		after(0, look{lanes: []string{"a"}}) // nothing was free, and nobody asked what is due
	}
	for range 10 {
		after(time.Second, taken)
	}
	require.Equal(t, 1, strings.Count(lines.String(), "lane=a"))
	require.Equal(t, 1, strings.Count(lines.String(), "lane=b"))
	after(0, free)
	require.Contains(t, lines.String(), `keeping up again" lane=a`)
	require.Contains(t, lines.String(), `keeping up again" lane=b`)
	require.Empty(t, b.lanes)
}
