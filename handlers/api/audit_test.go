package api_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"annals/domain/metadata"
	"annals/eventstore"
	"annals/handlers/api"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const anAdmin = "X-Service-Admin-Secret: " + secret

// audited is a service over a history of its own.
type audited struct {
	*service
	store *eventstore.Store
	db    *pgtest.DB
}

func startAudited(t *testing.T) audited {
	t.Helper()
	db := pgtest.New(t)
	store := eventstore.New(db.Pool, eventstore.Config{})
	return audited{start(t, settings{auth: withSecret(), history: store}), store, db}
}

// record appends events, filling in what a test does not say.
func (a audited) record(t *testing.T, events ...eventstore.Event) []eventstore.Recorded {
	t.Helper()
	for i := range events {
		e := &events[i]
		e.ID = uuid.Must(uuid.NewV7())
		if e.Type == "" {
			e.Type = "track_table"
		}
		if e.SchemaVersion == 0 {
			e.SchemaVersion = metadata.SchemaVersion
		}
		for _, text := range []*json.RawMessage{&e.Args, &e.Actor} {
			if *text == nil {
				*text = json.RawMessage(`{}`)
			}
		}
		if e.Changes == nil {
			e.Changes = json.RawMessage(`[]`)
		}
	}
	recorded, err := a.store.Append(t.Context(), eventstore.Any(), events...)
	require.NoError(t, err)
	return recorded
}

// recordMany appends n events that differ in nothing but their place.
func (a audited) recordMany(t *testing.T, n int) {
	t.Helper()
	a.record(t, make([]eventstore.Event, n)...)
}

// page is a list of events as it comes over the wire.
type page struct {
	Events []struct {
		Position int64
		Type     string
	}
	Next *int64
}

func (p page) positions() []int64 {
	positions := []int64{}
	for _, e := range p.Events {
		positions = append(positions, e.Position)
	}
	return positions
}

func (a audited) page(t *testing.T, path string) page {
	t.Helper()
	got := a.get(t, path, anAdmin)
	require.Equal(t, http.StatusOK, got.status, got.body)
	var p page
	require.NoError(t, json.Unmarshal([]byte(got.body), &p))
	return p
}

func TestAnEventIsListedWithAllThatIsKnownOfIt(t *testing.T) {
	s := startAudited(t)
	batch := uuid.Must(uuid.NewV7())
	recorded := s.record(t, eventstore.Event{
		Type:    "create_cron_trigger",
		Args:    json.RawMessage(`{"name": "daily", "webhook": "https://me:hush@example.org/hook"}`),
		Changes: json.RawMessage(`[{"type":"cron_trigger_created","kind":"cron_trigger","key":"daily","definition":{"name":"daily","headers":[{"name":"K","value":"hush"}]}}]`),
		Actor:   json.RawMessage(`{"role":"admin","request_id":"r-1"}`),
		Comment: "ticket <12>", Batch: batch, BatchIndex: 0,
	})[0]
	got := s.get(t, "/v1/audit/events", anAdmin)
	require.Equal(t, http.StatusOK, got.status)
	require.NotContains(t, got.body, "hush", "secrets are masked")
	require.Contains(t, got.body, `"comment":"ticket <12>"`)

	var body struct {
		Events []map[string]any
		Next   any
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &body))
	require.Nil(t, body.Next)
	require.Len(t, body.Events, 1)
	e := body.Events[0]
	require.Equal(t, "daily", e["args"].(map[string]any)["name"])
	require.Equal(t, "cron_trigger_created", e["changes"].([]any)[0].(map[string]any)["type"])
	delete(e, "args")
	delete(e, "changes")
	require.Equal(t, map[string]any{
		"position": 1.0, "id": recorded.ID.String(), "type": "create_cron_trigger",
		"actor":   map[string]any{"role": "admin", "request_id": "r-1"},
		"comment": "ticket <12>", "batch": batch.String(),
		"recorded_at": recorded.RecordedAt.UTC().Format("2006-01-02T15:04:05.000000Z"),
		"hash":        hex.EncodeToString(recorded.Hash[:]),
	}, e)
}

func TestWhatAnEventDoesNotHaveIsNull(t *testing.T) {
	s := startAudited(t)
	require.Equal(t, `{"events":[],"next":null}`, s.get(t, "/v1/audit/events", anAdmin).body, "an empty history")
	s.recordMany(t, 1)
	got := s.get(t, "/v1/audit/events", anAdmin).body
	require.Contains(t, got, `"comment":null,"batch":null`)
}

func TestPagesGoBackFromTheNewestEventWithoutGapOrRepetition(t *testing.T) {
	s := startAudited(t)
	const events = 60 // more than one read of a page
	s.recordMany(t, events)
	for _, limit := range []int{1, 7, 25, 26, 30, 59, 60, 61, api.MaxPageEvents} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			var seen []int64
			path := fmt.Sprintf("/v1/audit/events?limit=%d", limit)
			for next := path; next != ""; {
				p := s.page(t, next)
				seen = append(seen, p.positions()...)
				require.LessOrEqual(t, len(p.Events), limit)
				next = ""
				if p.Next != nil {
					require.Len(t, p.Events, limit, "only the last page is short")
					next = fmt.Sprintf("%s&cursor=%d", path, *p.Next)
				}
			}
			want := []int64{}
			for position := int64(events); position > 0; position-- {
				want = append(want, position)
			}
			require.Equal(t, want, seen)
		})
	}
	require.Len(t, s.page(t, "/v1/audit/events").Events, api.DefaultPageEvents)
}

func TestAPageEndsEarlyWhenItsEventsAreLarge(t *testing.T) {
	s := startAudited(t)
	large := json.RawMessage(`{"sql":"` + strings.Repeat("x", api.MaxPageBytes/2) + `"}`)
	s.record(t, eventstore.Event{}, eventstore.Event{Args: large}, eventstore.Event{Args: large}, eventstore.Event{Args: large})
	p := s.page(t, "/v1/audit/events?limit=10")
	require.Equal(t, []int64{4, 3}, p.positions())
	require.EqualValues(t, 3, *p.Next)
	p = s.page(t, "/v1/audit/events?limit=10&cursor=3")
	require.Equal(t, []int64{2, 1}, p.positions())
	require.Nil(t, p.Next)
}

func TestEventsAreFoundByWhatIsAskedOfThem(t *testing.T) {
	s := startAudited(t)
	author := eventstore.Object{Kind: "table", Key: `public."a:b/c"`}
	first := s.record(t, eventstore.Event{Type: "track_table", Objects: []eventstore.Object{author}, Actor: json.RawMessage(`{"role":"admin"}`)})[0]
	s.record(t, eventstore.Event{Type: "run_sql", Actor: json.RawMessage(`{"role":"admin","credential":"deploy"}`)})
	third := s.record(t, eventstore.Event{Type: "untrack_table", Objects: []eventstore.Object{author}, Actor: json.RawMessage(`{"request_id":"r-3"}`)})[0]
	at := func(e eventstore.Recorded) string { return e.RecordedAt.Format(time.RFC3339Nano) }
	east := third.RecordedAt.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)

	for _, c := range []struct {
		query string
		want  []int64
	}{
		{"", []int64{3, 2, 1}},
		{"object=" + url.QueryEscape("table:"+author.Key), []int64{3, 1}},
		{"object=table:public.other", []int64{}},
		{"type=run_sql", []int64{2}},
		{"type=run_sql&actor=deploy", []int64{2}},
		{"type=run_sql&actor=other", []int64{}},
		{"actor=admin", []int64{2, 1}},
		{"actor=r-3", []int64{3}},
		{"since=" + at(third), []int64{3}},
		{"since=" + url.QueryEscape(east), []int64{3}},
		{"since=" + east, []int64{3}}, // a + that was not escaped
		{"until=" + at(third), []int64{2, 1}},
		{"since=" + at(first) + "&until=" + at(third), []int64{2, 1}},
		{"after=1", []int64{3, 2}},
		{"after=0", []int64{3, 2, 1}},
		{"before=3", []int64{2, 1}},
		{"before=1", []int64{}},
		{"after=1&before=3", []int64{2}},
		{"before=3&cursor=2", []int64{1}},
		{"before=2&cursor=3", []int64{1}},
		{"limit=1&actor=admin", []int64{2}},
	} {
		t.Run(c.query, func(t *testing.T) {
			require.Equal(t, c.want, s.page(t, "/v1/audit/events?"+c.query).positions())
		})
	}
}

func TestAFilterThatIsNotUnderstoodIsRefused(t *testing.T) {
	s := startAudited(t)
	for _, query := range []string{
		"objects=table:public.t", "object=public.t", "object=:x", "object=table:", "type=", "type=a&type=b", "type=%00", "actor=%ff",
		"since=yesterday", "until=2026-13-01T00:00:00Z", "after=-1", "after=x", "before=0", "cursor=zzz", "before=99999999999999999999",
		"limit=0", "limit=501", "limit=ten", "a;b", "%zz",
	} {
		t.Run(query, func(t *testing.T) {
			s.get(t, "/v1/audit/events?"+query, anAdmin).isProblem(t, 400, "bad-request", "$")
		})
	}
	for _, path := range []string{"/v1/audit/verify?from=1", "/v1/audit/events/1?x=y", "/v1/audit/objects/table/t/history?object=a:b",
		"/v1/audit/objects/table/%00/history", "/v1/audit/objects/%ff/t/history"} {
		t.Run(path, func(t *testing.T) { s.get(t, path, anAdmin).isProblem(t, 400, "bad-request", "$") })
	}
}

func TestOneEventIsShownWithItsObjectsBeforeAndAfter(t *testing.T) {
	s := startAudited(t)
	batch := uuid.Must(uuid.NewV7())
	recorded := s.record(t, eventstore.Event{Batch: batch}, eventstore.Event{
		Batch: batch, BatchIndex: 1,
		Changes: json.RawMessage(`[
			{"type":"t1","kind":"table","key":"public.a","definition":{"v":1}},
			{"type":"t2","kind":"table","key":"public.b","definition":{"v":2},"before":{"v":1}},
			{"type":"t3","kind":"table","key":"public.c","before":{"v":1}},
			{"type":"t2","kind":"table","key":"public.b","definition":{"v":3},"before":{"v":2}}]`),
	})
	got := s.get(t, "/v1/audit/events/2", anAdmin)
	require.Equal(t, http.StatusOK, got.status, got.body)
	var body struct {
		Position   int64
		Changes    []any
		Objects    json.RawMessage
		PrevHash   string `json:"prev_hash"`
		BatchIndex int    `json:"batch_index"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &body))
	require.EqualValues(t, 2, body.Position)
	require.Len(t, body.Changes, 4)
	require.Equal(t, 1, body.BatchIndex)
	require.Equal(t, hex.EncodeToString(recorded[0].Hash[:]), body.PrevHash)
	require.JSONEq(t, `[
		{"kind":"table","key":"public.a","before":null,"after":{"v":1}},
		{"kind":"table","key":"public.b","before":{"v":1},"after":{"v":3}},
		{"kind":"table","key":"public.c","before":{"v":1},"after":null}]`, string(body.Objects))
}

func TestAnEventOfANewerReleaseIsShownAsItIsStored(t *testing.T) {
	s := startAudited(t)
	s.record(t, eventstore.Event{SchemaVersion: metadata.SchemaVersion + 1, Changes: json.RawMessage(`{"another":"form"}`)})
	got := s.get(t, "/v1/audit/events/1", anAdmin)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, got.body, `"changes":{"another":"form"}`)
	require.Contains(t, got.body, `"objects":[]`)
}

func TestAPositionThatHasNoEventDoesNotExist(t *testing.T) {
	s := startAudited(t)
	s.recordMany(t, 1)
	s.get(t, "/v1/audit/events/2", anAdmin).isProblem(t, 404, "not-found", "$")
	for _, position := range []string{"0", "-1", "x", "1.0", "99999999999999999999"} {
		s.get(t, "/v1/audit/events/"+position, anAdmin).isProblem(t, 400, "bad-request", "$")
	}
}

func TestAnObjectsHistoryIsFoundWhateverItsNameHolds(t *testing.T) {
	s := startAudited(t)
	for _, key := range []string{`public.author`, `public."a/b"`, `public."100%"`, `public."%2F"`, `public."a b?#"`, `öffentlich.größe`, `a"';drop table x`} {
		t.Run(key, func(t *testing.T) {
			recorded := s.record(t, eventstore.Event{Objects: []eventstore.Object{{Kind: "table", Key: key}}}, eventstore.Event{})
			s.record(t, eventstore.Event{Type: "untrack_table", Objects: []eventstore.Object{{Kind: "table", Key: key}}})
			path := "/v1/audit/objects/table/" + url.PathEscape(key) + "/history"
			require.Equal(t, []int64{recorded[0].Position + 2, recorded[0].Position}, s.page(t, path).positions())
			require.Equal(t, []int64{recorded[0].Position + 2}, s.page(t, path+"?type=untrack_table").positions())
			p := s.page(t, path+"?limit=1")
			require.Equal(t, []int64{recorded[0].Position}, s.page(t, path+"?limit=1&cursor="+strconv.FormatInt(*p.Next, 10)).positions())
		})
	}
	require.Empty(t, s.page(t, "/v1/audit/objects/table/public.unknown/history").Events)
}

func TestAHistoryThatIsAsItWasWrittenIsVerified(t *testing.T) {
	s := startAudited(t)
	require.JSONEq(t, `{"ok":true,"events":0,"head":{"position":0,"hash":"`+strings.Repeat("00", 32)+`"}}`,
		s.get(t, "/v1/audit/verify", anAdmin).body)
	recorded := s.record(t, eventstore.Event{}, eventstore.Event{})
	require.JSONEq(t, `{"ok":true,"events":2,"head":{"position":2,"hash":"`+hex.EncodeToString(recorded[1].Hash[:])+`"}}`,
		s.get(t, "/v1/audit/verify", anAdmin).body)
}

func TestAChangedHistoryIsFoundAndTheAnswerSaysWhere(t *testing.T) {
	s := startAudited(t)
	s.recordMany(t, 3)
	for _, statement := range []string{
		"alter table annals.events disable trigger user",
		"update annals.events set comment = 'it was not me' where position = 2",
	} {
		_, err := s.db.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	got := s.get(t, "/v1/audit/verify", anAdmin)
	require.Equal(t, http.StatusOK, got.status)
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &body))
	require.Equal(t, false, body["ok"])
	require.Equal(t, 2.0, body["position"])
	require.NotEmpty(t, body["reason"])
	require.Len(t, body, 3)
}

func TestTheAuditIsForAdminsOnly(t *testing.T) {
	s := start(t, settings{auth: withSecret(), history: noHistory{}})
	for _, path := range []string{"/v1/audit/events", "/v1/audit/events/1", "/v1/audit/objects/table/t/history", "/v1/audit/verify"} {
		s.get(t, path).isProblem(t, 401, "access-denied", "$")
		s.get(t, path, anAdmin, "X-Service-Role: user").isProblem(t, 400, "access-denied", "$")
		s.get(t, path, anAdmin).isProblem(t, 500, "unexpected", "$")
	}
}

// noHistory is a history that cannot be read.
type noHistory struct{}

var errNoHistory = errors.New("the disk is gone")

func (noHistory) Find(context.Context, eventstore.Filter) ([]eventstore.Recorded, error) {
	return nil, errNoHistory
}

func (noHistory) Get(context.Context, int64) (eventstore.Recorded, error) {
	return eventstore.Recorded{}, errNoHistory
}

func (noHistory) Verify(context.Context, eventstore.VerifyOptions) (eventstore.Report, error) {
	return eventstore.Report{}, errNoHistory
}
