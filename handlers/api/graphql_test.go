package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/wire"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// operations answers with the query's own text, and refuses what says so.
type operations struct{ asked []execution.Request }

func (o *operations) Run(_ context.Context, r execution.Request) ([]byte, error) {
	o.asked = append(o.asked, r)
	switch r.Query.Query {
	case "refused":
		return nil, &domain.Error{Code: domain.ValidationFailed, Message: "no", Path: "$.selectionSet.x", Internal: []byte(`{"why":1}`)}
	case "fault":
		return nil, &domain.Error{Code: domain.Unexpected, Message: "database query error", Fault: true}
	case "refused by a handler":
		return nil, &execution.HandlerRefusal{Refusal: &domain.Error{Code: "mine", Message: "no", Path: "$"}, Status: http.StatusTeapot}
	case "broken":
		return nil, errors.New("secret cause")
	}
	return []byte(`{"data":"` + r.Query.Query + `"}`), nil
}

func postGraphQL(t *testing.T, status func(problem) int, config auth.Config, body string) (answer string, code int, o *operations) {
	t.Helper()
	authenticator, err := auth.New(config)
	require.NoError(t, err)
	a := New(Config{}, Deps{Auth: authenticator, Registry: prometheus.NewRegistry(), Log: func(context.Context, Line) {}})
	o = &operations{}
	server := httptest.NewServer(a.tell(graphQL{a, o, status}))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("X-Hasura-Role", "user")
	response, err := server.Client().Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text), response.StatusCode, o
}

func TestAnOperationIsRunAsTheCaller(t *testing.T) {
	answer, status, o := postGraphQL(t, alwaysOK, auth.Config{}, `{"query":"q","variables":{"a":[1.50]},"operationName":"n","extensions":{}}`)
	require.Equal(t, `{"data":"q"}`, answer)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, o.asked, 1)
	require.Equal(t, "user", o.asked[0].Session.Role)
	require.Equal(t, "n", o.asked[0].Query.OperationName)
	require.JSONEq(t, `{"a":[1.50]}`, string(o.asked[0].Query.Variables.Raw()))
	_, _, o = postGraphQL(t, alwaysOK, auth.Config{}, `{"query":"q","variables":null,"operationName":null}`)
	require.Equal(t, wire.Null, o.asked[0].Query.Variables.Kind())
}

func TestABatchHasNoMoreOperationsThanItMay(t *testing.T) {
	batch := func(n int) string { return "[" + strings.Repeat(`{"query":"q"},`, n-1) + `{"query":"q"}]` }
	answer, status, o := postGraphQL(t, asItIs, auth.Config{}, batch(DefaultMaxBatch+1))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Contains(t, answer, "--max-batch-size")
	require.Empty(t, o.asked)
	_, status, o = postGraphQL(t, asItIs, auth.Config{}, batch(DefaultMaxBatch))
	require.Equal(t, http.StatusOK, status)
	require.Len(t, o.asked, DefaultMaxBatch)
}

func TestErrorsOfGraphQLHaveOneForm(t *testing.T) {
	for _, c := range []struct {
		body, want string
		status     int
	}{
		{`{"query":"refused"}`, `{"errors":[{"extensions":{"path":"$.selectionSet.x","code":"validation-failed"},"message":"no"}]}`, 400},
		{`{"query":"fault"}`, `{"errors":[{"extensions":{"path":"$","code":"unexpected"},"message":"database query error"}]}`, 500},
		{`{"query":"refused by a handler"}`, `{"errors":[{"extensions":{"path":"$","code":"mine"},"message":"no"}]}`, 418},
		{`{"query":"broken"}`, `{"errors":[{"extensions":{"path":"$","code":"unexpected"},"message":"internal error"}]}`, 500},
		{`{"variables":{}}`, `{"errors":[{"extensions":{"path":"$","code":"parse-failed"},"message":"key \"query\" not found"}]}`, 400},
	} {
		answer, status, _ := postGraphQL(t, alwaysOK, auth.Config{}, c.body)
		require.Equal(t, c.want, answer)
		require.Equal(t, http.StatusOK, status, "the standard endpoint says 200 whatever happens")
		answer, status, _ = postGraphQL(t, asItIs, auth.Config{}, c.body)
		require.Equal(t, c.want, answer)
		require.Equal(t, c.status, status)
	}
	answer, _, _ := postGraphQL(t, alwaysOK, auth.Config{}, `{"query`)
	require.Contains(t, answer, `"code":"invalid-json"`)
	answer, _, _ = postGraphQL(t, alwaysOK, auth.Config{}, `{"query":"q","variables":[]}`)
	require.Contains(t, answer, `"path":"$.variables","code":"parse-failed"`)
	answer, status, _ := postGraphQL(t, alwaysOK, auth.Config{Secrets: []auth.Secret{{Name: "a", Value: "b"}}}, `{"query":"q"}`)
	require.Contains(t, answer, `"code":"access-denied"`)
	require.Equal(t, http.StatusOK, status)
}

func TestABatchIsAnsweredItemByItem(t *testing.T) {
	answer, status, o := postGraphQL(t, asItIs, auth.Config{}, `[{"query":"a"},{"query":"refused"},{"query":"b"}]`)
	require.Equal(t, `[{"data":"a"},{"errors":[{"extensions":{"path":"$.selectionSet.x","code":"validation-failed"},"message":"no"}]},{"data":"b"}]`, answer)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, o.asked, 3)
	answer, _, _ = postGraphQL(t, asItIs, auth.Config{}, `[]`)
	require.Equal(t, `[]`, answer)
	answer, status, o = postGraphQL(t, asItIs, auth.Config{}, `[{"query":"a"},{}]`)
	require.Contains(t, answer, `"path":"$[1]"`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Empty(t, o.asked, "a list with one malformed item fails as a whole")
}

func TestHeadersOfOthersComeWithTheAnswerOfOneOperationAlone(t *testing.T) {
	_, _, o := postGraphQL(t, alwaysOK, auth.Config{}, `{"query":"q"}`)
	require.NotNil(t, o.asked[0].Client.Answer)
	_, _, o = postGraphQL(t, alwaysOK, auth.Config{}, `[{"query":"q"},{"query":"r"}]`)
	require.Len(t, o.asked, 2)
	require.Nil(t, o.asked[0].Client.Answer)
	require.Nil(t, o.asked[1].Client.Answer)
}
