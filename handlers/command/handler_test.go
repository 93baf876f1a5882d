package command_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/command"
	"annals/projections/catalog"
)

const ok = `{"message":"success"}`

func TestAnOperationIsInTheLogInTheDatabaseAndInMemory(t *testing.T) {
	s := newService(t)
	require.Equal(t, ok, s.do(`{"type":"create_query_collection","args":{"name":"app","definition":{"queries":[{"name":"q","query":"{ a }"}]}}}`))

	event, err := s.store.Get(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "create_query_collection", event.Type)
	require.JSONEq(t, `{"name":"app","definition":{"queries":[{"name":"q","query":"{ a }"}]}}`, string(event.Args))
	require.Contains(t, string(event.Changes), `"query_collection_created"`)
	require.Contains(t, string(event.Actor), t.Name())

	var definition string
	row := s.db.Pool.QueryRow(t.Context(), "select definition::text from annals.catalog where kind = 'query_collection' and key = 'app' and position = 1")
	require.NoError(t, row.Scan(&definition))
	require.Equal(t, string(event.Args), definition)
	require.Contains(t, s.export(), `"query_collections":[{"name":"app"`)
}

func TestANodeThatStartsLaterHasTheSameCatalog(t *testing.T) {
	s := withAuthors(t)
	require.Equal(t, s.export(), s.addNode(command.Config{}).export())
}

func TestOneRefusedItemUndoesTheWholeBulk(t *testing.T) {
	s := newService(t)
	refusal := s.refused(`{"type":"bulk","args":[
		{"type":"run_sql","args":{"sql":"create table kept (id int)"}},
		{"type":"create_query_collection","args":{"name":"app","definition":{"queries":[]}}},
		{"type":"drop_query_collection","args":{"collection":"none","cascade":false}}]}`)
	require.Equal(t, domain.NotExists, refusal.Code)
	require.Equal(t, "$.args[2].args.collection", refusal.Path)

	require.Zero(t, s.events())
	require.Equal(t, `{"version":2,"tables":[]}`, s.export())
	require.Contains(t, s.sql("select to_regclass('kept') is null"), `[["?column?"],["t"]]`)
}

func TestItemsOfABulkShareABatchAndSeeEachOther(t *testing.T) {
	s := newService(t)
	require.Equal(t, `[{"result_type":"CommandOk","result":null},{"message":"success"}]`, s.do(`{"type":"bulk","args":[
		{"type":"run_sql","args":{"sql":"create table t (id int primary key)"}},
		{"type":"track_table","args":{"name":"t"}}]}`))
	first, err := s.store.Get(t.Context(), 1)
	require.NoError(t, err)
	second, err := s.store.Get(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, first.Batch, second.Batch)
	require.Equal(t, 1, second.BatchIndex)
}

func TestABulkThatMixesAccessModesIsRefused(t *testing.T) {
	s := newService(t)
	refusal := s.refused(`{"type":"bulk","args":[
		{"type":"create_query_collection","args":{"name":"a","definition":{"queries":[]}}},
		{"type":"run_sql","args":{"sql":"select 1","read_only":true}}]}`)
	require.Equal(t, "incompatible access mode requirements in bulk query, expected access mode: READ WRITE but $.args[1] forces READ ONLY", refusal.Message)
	require.Equal(t, "$", refusal.Path)
}

func TestAMovedHistoryRefusesWhoeverExpectsAnother(t *testing.T) {
	s := newService(t)
	create := `{"type":"create_query_collection","resource_version":%d,"args":{"name":"c%d","definition":{"queries":[]}}}`
	s.do(fmt.Sprintf(create, 0, 1))
	require.Equal(t, domain.Conflict, s.refused(fmt.Sprintf(create, 0, 2)).Code)
	require.EqualValues(t, 1, s.events())
	s.do(fmt.Sprintf(create, 1, 3))
}

func TestAPlanAnswersWhatWouldChangeAndChangesNothing(t *testing.T) {
	s := withAuthors(t)
	before, events := s.export(), s.events()
	plan := s.do(`{"type":"bulk","plan":true,"args":[
		{"type":"run_sql","args":{"sql":"alter table author rename to writer"}},
		{"type":"drop_select_permission","args":{"table":"article","role":"user"}}]}`)
	require.Contains(t, plan, `"planned":true`)
	require.Contains(t, plan, `"permission_dropped"`)
	require.Contains(t, plan, `"public.writer"`)
	require.Equal(t, before, s.export())
	require.Equal(t, events, s.events())
	require.Contains(t, s.sql("select to_regclass('writer') is null"), `["t"]`)
}

func TestRollbackRestoresAnEarlierCatalogAndKeepsTheHistory(t *testing.T) {
	s := withAuthors(t)
	before, at := s.export(), s.events()
	s.do(`{"type":"untrack_table","args":{"table":"author","cascade":true}}`)
	s.do(`{"type":"create_query_collection","args":{"name":"later","definition":{"queries":[]}}}`)
	changed := s.export()
	require.NotEqual(t, before, changed)

	s.do(fmt.Sprintf(`{"type":"rollback_metadata","args":{"to":%d}}`, at))
	require.Equal(t, before, s.export())
	require.Equal(t, at+3, s.events())
	require.Equal(t, changed, s.do(fmt.Sprintf(`{"type":"export_metadata","args":{"as_of":%d}}`, at+2)))
	s.do(fmt.Sprintf(`{"type":"rollback_metadata","args":{"to":%d}}`, at+2))
	require.Equal(t, changed, s.export())
}

func TestLookingBackAnswersWhatStoodThenFromAnySnapshot(t *testing.T) {
	s := newService(t)
	exports := []string{s.export()}
	for i := range 8 {
		s.do(fmt.Sprintf(`{"type":"create_query_collection","args":{"name":"c%d","definition":{"queries":[]}}}`, i))
		exports = append(exports, s.export())
		if i == 3 {
			v := s.live.Current()
			require.NoError(t, catalog.SaveSnapshot(t.Context(), s.db.Pool, s.store, v.Position, v.World.Catalog))
		}
	}
	for position, want := range exports {
		require.Equal(t, want, s.do(fmt.Sprintf(`{"type":"export_metadata","args":{"as_of":%d}}`, position)))
	}
	require.Equal(t, exports[0], s.do(`{"type":"export_metadata","args":{"as_of":"2001-01-01T00:00:00Z"}}`))
	require.Equal(t, exports[8], s.do(`{"type":"export_metadata","args":{"as_of":"2999-01-01T00:00:00Z"}}`))
	require.Equal(t, domain.NotExists, s.refused(`{"type":"export_metadata","args":{"as_of":99}}`).Code)
}

func TestDiffTellsTheChangesBetweenTwoMoments(t *testing.T) {
	s := newService(t)
	s.do(`{"type":"create_query_collection","args":{"name":"a","definition":{"queries":[]}}}`)
	s.do(`{"type":"drop_query_collection","args":{"collection":"a","cascade":false}}`)
	s.do(`{"type":"create_query_collection","args":{"name":"b","definition":{"queries":[]}}}`)
	require.Equal(t, `{"from":1,"to":3,"changes":[`+
		`{"type":"query_collection_dropped","kind":"query_collection","key":"a","before":{"name":"a","definition":{"queries":[]}}},`+
		`{"type":"query_collection_created","kind":"query_collection","key":"b","definition":{"name":"b","definition":{"queries":[]}}}]}`,
		s.do(`{"type":"diff_metadata","args":{"from":1}}`))
	require.Contains(t, s.do(`{"type":"diff_metadata","args":{"from":0,"to":0}}`), `"changes":[]`)
}

func TestReplacingMetadataWithItselfChangesNothing(t *testing.T) {
	s := withAuthors(t)
	document := s.export()
	s.do(`{"type":"replace_metadata","args":` + document + `}`)
	require.Equal(t, document, s.export())
	event, err := s.store.Get(t.Context(), s.events())
	require.NoError(t, err)
	require.Equal(t, "[]", string(event.Changes))
}

func TestReplacingMetadataRecordsTheDifferenceOnly(t *testing.T) {
	s := withAuthors(t)
	document := s.export()
	s.do(`{"type":"replace_metadata","args":` + strings.Replace(document, `"columns":["id","title"]`, `"columns":["title"]`, 1) + `}`)
	event, err := s.store.Get(t.Context(), s.events())
	require.NoError(t, err)
	changes, err := metadata.DecodeChanges(event.Changes)
	require.NoError(t, err)
	require.Len(t, changes, 1)
	require.Equal(t, "permission_changed", changes[0].Type)
}

func TestOperationsThatNeedAMissingPartAreRefusedNotPretended(t *testing.T) {
	s := newService(t)
	for _, body := range []string{
		`{"type":"create_scheduled_event","args":{"webhook":"http://127.0.0.1:1/","schedule_at":"2999-01-01T00:00:00Z"}}`,
		`{"type":"redeliver_event","args":{"event_id":"85558393-c75d-4d2f-9c15-e80591b83894"}}`,
		`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://127.0.0.1:1/graphql"}}}`,
	} {
		require.Equal(t, domain.NotSupported, s.refused(body).Code, body)
	}
	require.Zero(t, s.events())
}

func TestManyWritersOnTwoNodesLeaveOneHistory(t *testing.T) {
	s := newService(t)
	nodes := []*node{s.node, s.addNode(command.Config{})}
	const writers, each = 32, 6
	var wg sync.WaitGroup
	failures := make(chan error, writers*each)
	for w := range writers {
		wg.Go(func() {
			n := nodes[w%len(nodes)]
			for i := range each {
				if _, err := n.try(fmt.Sprintf(`{"type":"create_query_collection","args":{"name":"c%d-%d","definition":{"queries":[]}}}`, w, i)); err != nil {
					failures <- err
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	require.EqualValues(t, writers*each, s.events())
	require.Equal(t, nodes[0].export(), nodes[1].export())
	require.Equal(t, writers*each, strings.Count(s.export(), `"c`)-strings.Count(s.export(), `"collection`))
}

func TestOfTwoNodesThatCreateTheSameObjectOneIsRefused(t *testing.T) {
	s := newService(t)
	other := s.addNode(command.Config{})
	create := `{"type":"create_query_collection","args":{"name":"one","definition":{"queries":[]}}}`
	s.do(create)
	require.Equal(t, domain.AlreadyExists, other.refused(create).Code)
	require.EqualValues(t, 1, s.events())
}

func TestANodeSeesTheTablesThatAnotherReshaped(t *testing.T) {
	s := withAuthors(t)
	other := s.addNode(command.Config{})
	s.sql("alter table article add column slug text")
	permission := `{"type":"create_select_permission","args":{"table":"article","role":"reader","permission":{"columns":["slug"],"filter":{}}}}`
	other.do(permission)
	s.exec("alter table article drop column slug")
	other.do(`{"type":"reload_metadata","args":{}}`)
	require.Contains(t, s.do(`{"type":"get_inconsistent_metadata","args":{}}`), `"is_consistent":false`)
}

func TestACallWaitsForTheHistoryOnlySoLong(t *testing.T) {
	s := newService(t)
	hurried := s.addNode(command.Config{LockTimeout: 50 * time.Millisecond})
	tx, err := s.db.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = s.store.Lock(t.Context(), tx)
	require.NoError(t, err)
	require.Equal(t, domain.Timeout, hurried.refused(`{"type":"create_query_collection","args":{"name":"a","definition":{"queries":[]}}}`).Code)
}
