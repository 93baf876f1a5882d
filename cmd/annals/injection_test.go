package main_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"annals/migrations/pgtest"
)

// ownedRows is a table of which a role sees the rows that its session names,
// each way that a session variable gets into a statement.
const ownedRows = `{"type":"bulk","args":[
	{"type":"run_sql","args":{"sql":"create table note (id int primary key, owner text); insert into note values (1, 'ann'), (2, 'bob'), (3, $$' or true --$$)"}},
	{"type":"track_table","args":"note"},
	{"type":"create_select_permission","args":{"table":"note","role":"text","permission":{"columns":"*","filter":{"owner":"X-Hasura-Value"}}}},
	{"type":"create_select_permission","args":{"table":"note","role":"number","permission":{"columns":"*","filter":{"id":"X-Hasura-Value"}}}},
	{"type":"create_select_permission","args":{"table":"note","role":"list","permission":{"columns":"*","filter":{"owner":{"_in":"X-Hasura-Value"}}}}},
	{"type":"create_select_permission","args":{"table":"note","role":"pattern","permission":{"columns":"*","filter":{"owner":{"_similar":"X-Hasura-Value"}}}}}
]}`

// injections are values that would say more than a value if they got the chance.
func injections() []string {
	return []string{
		`' or true --`, `ann' or '1'='1`, `1 or true`, `1); drop table note; --`, `'; drop table note; --`, `\'; drop table note; --`,
		`$1`, `{{X-Hasura-Role}}`, `X-Hasura-Role`, `{"_ne":"x"}`, `{ann,bob}`, `{"ann' or true --"}`, `{`, `}`, `\`, `"`, `%`, `(ann|bob)`,
		"ann\u2019 or true --", `ann/*`, `E'\x27'`, `::text or true`, `0x1`, `1e0`, `null`, `NaN`, "a\x00b",
	}
}

// seenByValue is the rows that a role sees because the value is one of its
// column, list or pattern; all others see none.
func seenByValue() map[string]string {
	return map[string]string{
		"text/ann": "1", "pattern/ann": "1",
		"text/' or true --": "3", "pattern/' or true --": "3",
		"list/{ann,bob}": "12", "pattern/(ann|bob)": "12", "pattern/ann/*": "1", "pattern/%": "123",
	}
}

func TestASessionVariableIsAValueAndNothingElse(t *testing.T) {
	t.Parallel()
	tokens, a := behindTokens(t)
	scene, err := parseJSON([]byte(ownedRows))
	require.NoError(t, err)
	_, err = a.admin(t.Context(), scene, http.StatusOK)
	require.NoError(t, err)
	for _, value := range append(injections(), "ann") {
		for _, role := range []string{"text", "number", "list", "pattern"} {
			headers, err := tokens.headers(map[string]string{"X-Hasura-Role": role, "X-Hasura-Value": value})
			require.NoError(t, err)
			delete(headers, "X-Hasura-Value") // the token says it, and may say what no header can
			for _, path := range []string{"/v1/graphql", "/v1/query"} {
				assert.Equal(t, seenByValue()[role+"/"+value], a.notesSeen(t, path, headers), "%q as %s at %s", value, role, path)
			}
		}
	}
	left, err := a.runSQL(t.Context(), "select count(*) from note")
	require.NoError(t, err)
	require.Contains(t, string(left.raw), `["3"]`)
}

// behindTokens is a server that lets in by secret and by token.
func behindTokens(t *testing.T) (*tokenGate, *client) {
	t.Helper()
	tokens, err := newTokenGate("")
	require.NoError(t, err)
	m := mode{secret: rightSecret}
	l := launch{program: buildAnnals(t), database: pgtest.Empty(t)}
	l.with(m, tokens.settings())
	s, err := l.start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.stop()) })
	return tokens, newClient(s.url, m)
}

// notesSeen are the keys of the rows that the headers' bearer sees; none where
// PostgreSQL or the service refuses the value.
func (c *client) notesSeen(t *testing.T, path string, headers map[string]string) (keys string) {
	t.Helper()
	body := graphQL("{ note(order_by: {id: asc}) { id } }")
	if path == "/v1/query" {
		body = makeObject("type", "select", "args", makeObject("table", "note", "columns", []any{"id"}, "order_by", "+id"))
	}
	a, err := c.post(t.Context(), path, body, headers)
	require.NoError(t, err)
	require.NotContains(t, string(a.raw), `"code":"unexpected"`)
	rows := list(a.body)
	if path == "/v1/graphql" {
		rows = list(get(get(a.body, "data"), "note"))
	}
	for _, row := range rows {
		keys += fmt.Sprint(get(row, "id"))
	}
	return keys
}
