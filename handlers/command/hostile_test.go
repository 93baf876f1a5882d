package command_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/command"
)

// hostileNames are names of tables, columns and roles that somebody may have.
var hostileNames = []string{
	`"; drop table annals.events; --`, `a.b`, `a"b""c`, `O'Neil`, `with space`, "tab\tnew\nline", `Ünï-cödé ☃`, `$$`, `%s%d`, `\`, `{{ENV}}`,
	`select`, `null`, strings.Repeat("x", 63), strings.Repeat("é", 31), "é", `/v1/query?x=<script>`, `kind/key`,
}

func TestAnyNameThatPostgresHoldsGoesThroughEveryOperation(t *testing.T) {
	for i, name := range hostileNames {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := newService(t)
			ident := pgx.Identifier{name}.Sanitize()
			s.sql(fmt.Sprintf(`create schema %[1]s; create table %[1]s.%[1]s (%[1]s int primary key, parent int references %[1]s.%[1]s (%[1]s))`, ident))
			n := quoted(name)
			table := fmt.Sprintf(`{"schema":%[1]s,"name":%[1]s}`, n)
			s.do(`{"type":"track_table","args":` + table + `}`)
			s.do(fmt.Sprintf(`{"type":"create_object_relationship","args":{"table":%s,"name":"up","using":{"foreign_key_constraint_on":"parent"}}}`, table))
			s.do(fmt.Sprintf(`{"type":"create_select_permission","args":{"table":%s,"role":%s,"permission":{"columns":[%s],"filter":{"up":{%s:{"_eq":1}}}}}}`, table, n, n, n))
			s.do(fmt.Sprintf(`{"type":"create_event_trigger","args":{"name":"t","table":%s,"webhook":"http://127.0.0.1:1/","update":{"columns":[%s]}}}`, table, n))
			s.do(fmt.Sprintf(`{"type":"create_query_collection","args":{"name":%s,"definition":{"queries":[{"name":%s,"query":"{ a }"}]}}}`, n, n))
			s.do(fmt.Sprintf(`{"type":"add_collection_to_allowlist","args":{"collection":%s}}`, n))
			s.do(fmt.Sprintf(`{"type":"create_cron_trigger","args":{"name":%s,"webhook":"http://127.0.0.1:1/","schedule":"* * * * *","include_in_metadata":true}}`, n))
			require.Contains(t, s.do(`{"type":"get_inconsistent_metadata","args":{}}`), `"is_consistent":true`)

			document := s.export()
			s.do(`{"type":"replace_metadata","args":` + document + `}`)
			require.Equal(t, document, s.export())
			require.Equal(t, document, s.addNode(command.Config{}).export())

			s.sql(fmt.Sprintf(`alter table %[1]s.%[1]s rename column %[1]s to plain`, ident))
			require.NotEqual(t, document, s.export())
			s.do(fmt.Sprintf(`{"type":"untrack_table","args":{"table":%s,"cascade":true}}`, table))
			require.Contains(t, s.export(), `"tables":[]`)
		})
	}
}

func TestNamesThatPostgresCannotHoldAreRefused(t *testing.T) {
	s := newService(t)
	for _, name := range []string{"a\x00b", strings.Repeat("x", 64), ""} {
		refusal := s.refused(`{"type":"track_table","args":{"name":` + quoted(name) + `}}`)
		require.Equal(t, domain.ParseFailed, refusal.Code, "%q", name)
		require.Equal(t, "$.name", refusal.Path)
	}
}

func TestALargeOperationIsRecordedWhole(t *testing.T) {
	s := newService(t)
	query := "{ a } # " + strings.Repeat("ö", 5<<20)
	s.do(`{"type":"create_query_collection","args":{"name":"large","definition":{"queries":[{"name":"q","query":` + quoted(query) + `}]}}}`)
	require.Contains(t, s.export(), query[:100])
	require.Greater(t, len(s.export()), 10<<20)
}

func TestANameTooLongForTheIndexOfTheHistoryIsRefused(t *testing.T) {
	s := newService(t)
	refusal := s.refused(`{"type":"create_query_collection","args":{"name":"` + strings.Repeat("n", 3000) + `","definition":{"queries":[]}}}`)
	require.Equal(t, domain.NotSupported, refusal.Code)
	require.Contains(t, refusal.Message, "2500")
	require.Zero(t, s.events())
}
