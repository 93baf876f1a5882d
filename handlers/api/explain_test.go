package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/api"
	"annals/handlers/api/auth"
	"annals/handlers/execution"
)

// explainer remembers what it was asked.
type explainer struct {
	asked []execution.ExplainRequest
	err   error
}

func (e *explainer) Explain(_ context.Context, r execution.ExplainRequest) ([]byte, error) {
	e.asked = append(e.asked, r)
	return []byte(`[{"field":"a","sql":null,"plan":null}]`), e.err
}

// past has a catalog of its own at each position but 99.
type past struct{}

func (past) WorldAt(_ context.Context, m metadata.Moment) (metadata.World, error) {
	if m.Position != nil && *m.Position == 99 {
		return metadata.World{}, domain.Refuse(domain.NotExists, "there is no position 99 yet")
	}
	return metadata.World{}, nil
}

const explainPath = "/v1/graphql/explain"

func startExplaining(t *testing.T, cfg api.Config) (*service, *explainer) {
	t.Helper()
	authenticator, err := auth.New(withSecret())
	require.NoError(t, err)
	e := &explainer{}
	v := &service{lines: &lines{}}
	v.API = api.New(cfg, api.Deps{
		Auth: authenticator, Explainer: e, Past: past{}, State: &state{}, Registry: prometheus.NewRegistry(), Log: v.lines.take,
	})
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	v.url = server.URL
	return v, e
}

// asked sends a body to explain, which must be understood.
func asked(t *testing.T, body string) execution.ExplainRequest {
	t.Helper()
	s, e := startExplaining(t, api.Config{})
	got := s.send(t, http.MethodPost, explainPath, body, "X-Service-Admin-Secret: "+secret)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Equal(t, `[{"field":"a","sql":null,"plan":null}]`, got.body)
	require.Len(t, e.asked, 1)
	return e.asked[0]
}

func TestAnOperationToExplainIsTextOrAnObject(t *testing.T) {
	r := asked(t, `{"query":"{ a }"}`)
	require.Equal(t, "{ a }", r.Query.Query)
	require.Equal(t, domain.AdminRole, r.Session.Role)
	require.True(t, r.BackendOnly)
	require.False(t, r.JSON)
	require.False(t, r.Analyze)
	r = asked(t, `{"query":{"query":"query Q { a }","operationName":"Q","variables":{"n":1.0}},"user":null,"is_relay":false,"format":"json","analyze":true}`)
	require.Equal(t, "query Q { a }", r.Query.Query)
	require.Equal(t, "Q", r.Query.OperationName)
	require.JSONEq(t, `{"n":1.0}`, string(r.Query.Variables.Raw()))
	require.True(t, r.JSON)
	require.True(t, r.Analyze)
}

func TestTheSessionToExplainForIsSpelledInAnyCase(t *testing.T) {
	for _, user := range []string{
		`{"x-service-role":"user","x-service-user-id":"1"}`,
		`{"X-Hasura-Role":"user","X-HASURA-USER-ID":"1","something":"else"}`,
		`{"X-Service-User-Id":"1","X-Hasura-User-Id":"2","X-Service-Role":"user"}`,
		`{"X-Hasura-User-Id":"2","X-Service-User-Id":"1","X-Service-Role":"user"}`,
	} {
		require.Equal(t, domain.Session{Role: "user", Variables: map[string]string{"x-service-role": "user", "x-service-user-id": "1"}},
			asked(t, `{"query":"{ a }","user":`+user+`}`).Session, user)
	}
	require.Equal(t, domain.AdminRole, asked(t, `{"query":"{ a }","user":{"x-service-user-id":"1"}}`).Session.Role)
}

func TestWhatMakesNoSenseIsNotExplained(t *testing.T) {
	s, e := startExplaining(t, api.Config{})
	for _, c := range []struct{ body, code, path string }{
		{`{}`, "parse-failed", "$"},
		{`[]`, "parse-failed", "$"},
		{`{"query":{}}`, "parse-failed", "$.query"},
		{`{"query":1}`, "parse-failed", "$.query"},
		{`{"query":null}`, "parse-failed", "$.query"},
		{`{"query":"{"}`, "parse-failed", "$.query"},
		{`{"query":{"query":"{"}}`, "parse-failed", "$.query.query"},
		{`{"query":{"query":"{ a }","variables":[]}}`, "parse-failed", "$.query.variables"},
		{`{"query":"{ a }","user":[]}`, "parse-failed", "$.user"},
		{`{"query":"{ a }","user":{"x-service-user-id":1}}`, "parse-failed", "$.user.x-service-user-id"},
		{`{"query":"{ a }","format":"yaml"}`, "parse-failed", "$.format"},
		{`{"query":"{ a }","analyze":"yes"}`, "parse-failed", "$.analyze"},
		{`{"query":"{ a }","is_relay":true}`, "not-supported", "$.is_relay"},
		{`{"query"`, "invalid-json", "$"},
	} {
		got := s.send(t, http.MethodPost, explainPath, c.body, "X-Service-Admin-Secret: "+secret)
		t.Log(c.body, got.body)
		got.isProblem(t, http.StatusBadRequest, c.code, c.path)
	}
	require.Empty(t, e.asked)
}

func TestExplainIsForAdmins(t *testing.T) {
	s, e := startExplaining(t, api.Config{})
	for _, path := range []string{explainPath, "/v1alpha1/graphql/explain"} {
		s.send(t, http.MethodPost, path, `{"query":"{ a }"}`, "X-Service-Admin-Secret: "+secret, "X-Service-Role: user").
			isProblem(t, http.StatusBadRequest, "access-denied", "$")
		s.send(t, http.MethodPost, path, `{"query":"{ a }"}`).isProblem(t, http.StatusUnauthorized, "access-denied", "$")
	}
	require.Empty(t, e.asked)
}

func TestExplainGoesWithTheMetadataAPI(t *testing.T) {
	s, _ := startExplaining(t, api.Config{APIs: []api.Part{api.PartGraphQL}})
	s.send(t, http.MethodPost, explainPath, `{"query":"{ a }"}`, "X-Service-Admin-Secret: "+secret).isProblem(t, http.StatusNotFound, "not-found", "$")
	s, _ = startExplaining(t, api.Config{APIs: []api.Part{api.PartMetadata}})
	require.Equal(t, http.StatusOK, s.send(t, http.MethodPost, explainPath, `{"query":"{ a }"}`, "X-Service-Admin-Secret: "+secret).status)
}

func TestARefusalOfExplainHasTheFormOfTheMetadataAPI(t *testing.T) {
	s, e := startExplaining(t, api.Config{})
	e.err = domain.RefuseAt("$.selectionSet.a", domain.ValidationFailed, "no")
	s.send(t, http.MethodPost, explainPath, `{"query":"{ a }"}`, "X-Service-Admin-Secret: "+secret).
		isProblem(t, http.StatusBadRequest, "validation-failed", "$.selectionSet.a")
}

func TestAnOperationIsExplainedAsOfAMoment(t *testing.T) {
	require.Nil(t, asked(t, `{"query":"{ a }"}`).World)
	require.NotNil(t, asked(t, `{"query":"{ a }","as_of":3}`).World)
	require.NotNil(t, asked(t, `{"query":"{ a }","as_of":"2026-01-31T12:00:00Z"}`).World)
	s, _ := startExplaining(t, api.Config{})
	for body, code := range map[string]domain.Code{
		`{"query":"{ a }","as_of":"yesterday"}`: domain.ParseFailed,
		`{"query":"{ a }","as_of":99}`:          domain.NotExists,
	} {
		got := s.send(t, http.MethodPost, explainPath, body, "X-Service-Admin-Secret: "+secret)
		require.Equal(t, http.StatusBadRequest, got.status, got.body)
		require.Contains(t, got.body, string(code))
	}
}
