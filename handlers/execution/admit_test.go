package execution_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/graphql"
	"annals/handlers/execution"
)

const allowed = `{"type":"bulk","args":[
	{"type":"track_table","args":"artist"},
	{"type":"create_select_permission","args":{"table":"artist","role":"user","permission":{"columns":"*","filter":{}}}},
	{"type":"create_query_collection","args":{"name":"c","definition":{"queries":[{"name":"q","query":"query { artist(order_by: {id: asc}) { name __typename } }"}]}}},
	{"type":"add_collection_to_allowlist","args":{"collection":"c"}}
]}`

var asUser = domain.Session{Role: "user"}

func TestOnlyWhatIsAllowedIsRunForOthersThanTheAdmin(t *testing.T) {
	t.Parallel()
	e := newEngineWith(t, execution.Config{AllowList: execution.AllowList{Mode: execution.AllowListEnforce}}, music, allowed)
	e.answers(asUser, `{"artist":[{"name":"A"},{"name":"B"},{"name":"C"}]}`, `{ artist(order_by: {id: asc}) { name } }`, "")
	_, err := e.ask(asUser, `{ artist { id } }`, "")
	refused := refusal(t, err)
	require.Equal(t, domain.ValidationFailed, refused.Code)
	require.Equal(t, "query is not allowed", refused.Message)
	require.Equal(t, "$", refused.Path)
	require.JSONEq(t, `{"message":"query is not in any of the allowlists"}`, string(refused.Internal))
	_, err = e.ask(asUser, `{ __schema { queryType { name } } }`, "")
	require.Equal(t, "query is not allowed", refusal(t, err).Message, "introspection is no exception")
	_, err = e.ask(asUser, `{ artist`, "")
	require.Equal(t, "$.query", refusal(t, err).Path)
	require.Equal(t, "not a valid graphql query", refusal(t, err).Message)
	_, err = e.ask(asUser, "{ artist { "+strings.Repeat("id ", graphql.MaxTokens)+"} }", "")
	require.Equal(t, "query is not allowed", refusal(t, err).Message, "what is too long to be compared is in no list")
	_, err = e.run.Begin(t.Context(), execution.Request{Session: asUser, Query: plan.Request{Query: `subscription { artist { id } }`}})
	require.Equal(t, "query is not allowed", refusal(t, err).Message, "nor is it begun over a websocket")
	e.answers(asAdmin, `{"artist":[{"id":1}]}`, `{ artist(limit: 1) { id } }`, "")
	require.Len(t, e.explains(asUser, `{ artist { id } }`, ""), 1, "explain is for admins, whatever role they ask about")
}

func TestTheNextRequestSeesAChangedCollection(t *testing.T) {
	t.Parallel()
	e := newEngineWith(t, execution.Config{AllowList: execution.AllowList{Mode: execution.AllowListEnforce}}, music, allowed)
	const query = `{ artist(where: {id: {_eq: 1}}) { id } }`
	_, err := e.ask(asUser, query, "")
	require.Error(t, err)
	e.Do(`{"type":"add_query_to_collection","args":{"collection_name":"c","query_name":"n","query":"{ artist(where: {id: {_eq: 1}}) { id } }"}}`)
	e.answers(asUser, `{"artist":[{"id":1}]}`, query, "")
	e.Do(`{"type":"drop_query_from_collection","args":{"collection_name":"c","query_name":"n"}}`)
	_, err = e.ask(asUser, query, "")
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code, "neither its plan nor its text is remembered")
}

func TestAReportTellsWhatWouldBeRefused(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := newEngineWith(t, execution.Config{AllowList: execution.AllowList{
		Mode: execution.AllowListReport, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}}, music, allowed)
	e.answers(asUser, `{"artist":[{"name":"A"},{"name":"B"},{"name":"C"}]}`, `{ artist(order_by: {id: asc}) { name } }`, "")
	require.Empty(t, log.String())
	_, err := e.run.Run(t.Context(), execution.Request{Session: asUser, Query: plan.Request{Query: `query Mine { artist(where: {name: {_eq: "private"}}) { id } }`, OperationName: "Mine"}})
	require.NoError(t, err)
	require.Contains(t, log.String(), "operation_name=Mine")
	require.Contains(t, log.String(), "role=user")
	require.NotContains(t, log.String(), "private")
}
