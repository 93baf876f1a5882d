package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/wire"
)

type node = wire.Node

// decodeEntry reads an entry of the metadata document.
func decodeEntry[T any](t *testing.T, raw []byte, decode func(node) T) T {
	t.Helper()
	v, err := wire.Parse(raw)
	require.NoError(t, err)
	entry, err := wire.Decode(v, decode)
	require.NoError(t, err)
	return entry
}

func TestAHeaderHasOneValue(t *testing.T) {
	cases := []struct{ header, path, message string }{
		{`"X-A: b"`, "$.headers[0]", "expecting object for headers"},
		{`{"name":"a"}`, "$.headers[0]", "expecting value or value_from_env keys"},
		{`{"name":"a","value":null}`, "$.headers[0]", "expecting value or value_from_env keys"},
		{`{"name":"a","value":"b","value_from_env":"B"}`, "$.headers[0]", "expecting only one of value or value_from_env keys"},
		{`{"value":"b"}`, "$.headers[0]", `key "name" not found`},
		{`{"name":"a","value":1}`, "$.headers[0].value", "parsing Text failed, expected String, but encountered Number"},
		{`{"name":"a b","value":"c"}`, "$.headers[0]", `"a b" is not the name of an HTTP header`},
		{`{"name":"","value":"c"}`, "$.headers[0]", `"" is not the name of an HTTP header`},
		{`{"name":"a","value":"b\r\nX: y"}`, "$.headers[0]", "the value of a header cannot hold a line break"},
		{`{"name":"a","value_from_env":"HASURA_GRAPHQL_CLIENT_NAME"}`, "$.headers[0]",
			`env variables starting with "HASURA_GRAPHQL_" are not allowed in value_from_env: HASURA_GRAPHQL_CLIENT_NAME`},
		{`{"name":"a","value_from_env":"SERVICE_GRAPHQL_ADMIN_SECRET"}`, "$.headers[0]",
			`env variables starting with "SERVICE_GRAPHQL_" are not allowed in value_from_env: SERVICE_GRAPHQL_ADMIN_SECRET`},
	}
	for _, c := range cases {
		given(t, shapeOf()).
			when(`{"type":"create_cron_trigger","args":{"name":"c","webhook":"http://h","schedule":"* * * * *","include_in_metadata":true,"headers":[`+c.header+`]}}`).
			refuses(domain.ParseFailed, c.path, c.message)
	}
}

func TestHeadersAreResolvedInOrder(t *testing.T) {
	headers := []Header{{Name: "a", Value: ptr("")}, {Name: "b", ValueFromEnv: ptr("B")}}
	values, err := ResolveHeaders(headers, Environment{"B": "2"})
	require.NoError(t, err)
	require.Equal(t, []HeaderValue{{"a", ""}, {"b", "2"}}, values)

	_, err = ResolveHeaders(headers, nil)
	var refusal *domain.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, domain.NotFound, refusal.Code)
	require.Equal(t, "environment variable 'B' not set", refusal.Message)
}
