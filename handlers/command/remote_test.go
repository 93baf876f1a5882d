package command_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/graphql/graphqltest"
)

// remoteOf is the URL of a server with the types that it has at the moment.
func remoteOf(t *testing.T, types *atomic.Value) string {
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(graphqltest.New(types.Load().(string), nil, nil).Introspection())
	})
}

func TestTypesOfTablesAndOfRemotesStayTheSameWhateverChangesThem(t *testing.T) {
	const author = `type author { id: Int! name: String! } `
	s := newService(t)
	s.handler.Remote = introspector(t)
	s.exec(authors)
	s.do(`{"type":"track_table","args":"author"}`)
	var types atomic.Value
	url := remoteOf(t, &types)
	add := fmt.Sprintf(`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":%q}}}`, url)
	clash := func(e *domain.Error, names string) {
		t.Helper()
		require.Equal(t, domain.RemoteConflicts, e.Code)
		require.Equal(t, "types: [ "+names+" ] have mismatch with current graphql schema. HINT: Types must be same.", e.Message)
	}

	types.Store(`type author { id: Int! } type Query { writer: author }`)
	clash(s.refused(add), "author")
	types.Store(author + `type Query { writer: author }`)
	s.do(add)

	clash(s.refused(`{"type":"run_sql","args":{"sql":"alter table author add column born date"}}`), "author")
	clash(s.refused(`{"type":"run_sql","args":{"sql":"alter table author alter column name drop not null"}}`), "author")
	s.sql(`alter table author add column "no name" date`)
	s.sql(`alter table article add column written date`)

	before := s.export()
	types.Store(`type author { id: Int! } type Query { writer: author }`)
	fault := s.refused(`{"type":"reload_remote_schema","args":{"name":"r"}}`)
	require.Equal(t, domain.Unexpected, fault.Code)
	require.True(t, fault.Fault)
	require.Equal(t, "cannot continue due to newly found inconsistent metadata", fault.Message)
	require.Contains(t, string(fault.Internal), `"type":"remote_schema"`)
	require.Contains(t, string(fault.Internal), "types: [ author ] have mismatch")
	require.Equal(t, before, s.export())
	types.Store(author + `type Query { author: author }`)
	require.Contains(t, string(s.refused(`{"type":"reload_remote_schema","args":{"name":"r"}}`).Internal), "Field cannot be overwritten by remote field 'author'")
	types.Store(author + `type Query { writer: author one_more: Int }`)
	s.do(`{"type":"reload_remote_schema","args":{"name":"r"}}`)
}
