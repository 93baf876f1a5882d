package execution_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/handlers/execution"
	"annals/handlers/outbound"
)

// faultEngine joins authors to a remote that has a second for its answer:
// message fails with it, lenient is null then, deep lies behind two fields and a list.
func faultEngine(t *testing.T, c execution.Config, s *joinServer) *engine {
	c.Joins.Log = slog.New(slog.DiscardHandler)
	return newEngineOver(t, c, s, authorTables, `{"type":"track_table","args":"author"}`,
		`{"type":"add_remote_schema","args":{"name":"messages","definition":{"url":"`+s.URL+`","timeout_seconds":1}}}`,
		joinedTo("author", "message", `{"message":{"arguments":{"id":"$id"}}}`, `"id"`),
		joinedTo("author", "deep", `{"message":{"arguments":{"id":"$id"},"field":{"author":{"arguments":{},"field":{"friends":{"arguments":{},"field":{"says":{"arguments":{}}}}}}}}}`, `"id"`),
		joinedTo("author", "lenient", `{"message":{"arguments":{"id":"$id"}}}`, `"id"`, `,"on_error":null`))
}

// says answers with a body of the test.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // whoever asked may have gone
	}
}

// breaksOff promises more than it sends.
func breaksOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"data":{"message__0":`)
}

// hangsUp closes the connection without a word.
func hangsUp(w http.ResponseWriter, _ *http.Request) {
	if connection, _, err := w.(http.Hijacker).Hijack(); err == nil {
		_ = connection.Close()
	}
}

// sleeps answers when whoever asked has gone.
func sleeps(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drips sends byte after byte, and never the last.
func drips(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// remoteFaults are what a remote may do instead of answering, and what is told
// of it.
var remoteFaults = []struct {
	name    string
	does    http.HandlerFunc
	code    domain.Code
	message string
}{
	{"it sleeps", sleeps, domain.Unexpected, "ResponseTimeout"},
	{"it drips", drips, domain.Unexpected, "ResponseTimeout"},
	{"it hangs up", hangsUp, domain.Unexpected, "NoResponseDataReceived"},
	{"it breaks off", breaksOff, domain.Unexpected, "ResponseBodyTooShort"},
	{"HTML", says(200, "<html>busy</html>"), domain.Unexpected, "Remote server response is not valid JSON: jsontext: invalid character '<' at start of value"},
	{"an empty body", says(200, ""), domain.Unexpected, "Remote server response is not valid JSON: EOF"},
	{"half an object", says(200, `{"data":{"message__0":{"id":1}`), domain.Unexpected, "Remote server response is not valid JSON: jsontext: unexpected EOF"},
	{"two values", says(200, `{"data":{}} {}`), domain.Unexpected, "Remote server response is not valid JSON: more than one value"},
	{"text that is not UTF-8", says(200, "{\"data\":{\"message__0\":\"\xff\"}}"), domain.Unexpected, "Remote server response is not valid JSON: jsontext: invalid UTF-8"},
	{"a depth without end", says(200, `{"data":`+strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_001)), domain.Unexpected, "Remote server response is not valid JSON: jsontext: exceeded max depth"},
	{"more than is read", says(200, `{"data":{"message__0":"`+strings.Repeat("x", 1<<20)+`"}}`), domain.RemoteSchemaError, "the answer of the remote server is larger than"},
	{"a redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	},
		domain.Unexpected, "Remote server response is not valid JSON: EOF"},
	{"a list", says(200, `[{"data":{}}]`), domain.Unexpected, `"data" field not found in remote response`},
	{"no data", says(200, `{"extensions":{}}`), domain.Unexpected, `"data" field not found in remote response`},
	{"data that is null", says(200, `{"data":null}`), domain.Unexpected, `"data" field not found in remote response`},
	{"data that is a list", says(200, `{"data":[1]}`), domain.Unexpected, `"data" field not found in remote response`},
	{"a row too few", says(200, `{"data":{"message__0":{"id":1},"message__2":{"id":3},"lenient__0":{"id":1}}}`), domain.Unexpected,
		"cannnot find value in remote response at path message__1"},
	{"errors", says(200, `{"data":{"message__0":{"id":1}},"errors":[{"message":"no","path":["message__1"]}]}`), domain.Unexpected, "Errors from remote server"},
	{"errors without data", says(500, `{"errors":[{"message":"no"}]}`), domain.Unexpected, "Errors from remote server"},
}

func TestWhateverARemoteDoesTheClientIsToldOrGetsNull(t *testing.T) {
	t.Parallel()
	s := startJoinServer(t, messageTypes, messages())
	c := execution.Config{Outbound: outbound.New(outbound.Config{MaxResponse: 1 << 18})}
	e := faultEngine(t, c, s)
	for _, fault := range remoteFaults {
		t.Run(fault.name, func(t *testing.T) {
			s.answer(fault.does)
			_, err := e.ask(admin(), `{ author(order_by: {id: asc}) { message { id } } }`, "")
			refused := refusal(t, err)
			require.Equal(t, fault.code, refused.Code)
			require.Equal(t, "$", refused.Path)
			require.True(t, strings.HasPrefix(refused.Message, fault.message), refused.Message)
			answer, err := e.ask(admin(), `{ author(order_by: {id: asc}) { id lenient { id } } }`, "")
			require.NoError(t, err)
			require.Equal(t, `{"data":{"author":[{"id":1,"lenient":null},{"id":2,"lenient":null},{"id":3,"lenient":null}]}}`, answer)
		})
	}
	s.answer(nil)
	_, err := e.ask(admin(), `{ author { message { id } lenient { id } } }`, "")
	require.NoError(t, err, "the remote is asked again when it is well")
}

// A remote that answers other types than it said is passed on as it is: what
// is asked of it is checked, what it answers only as far as the way to the value.
func TestARemoteThatLiesAboutItsTypesIsPassedOn(t *testing.T) {
	t.Parallel()
	s := startJoinServer(t, messageTypes, messages())
	e := faultEngine(t, execution.Config{}, s)
	for said, want := range map[string]string{
		`"text"`: `"text"`, `[{"id":1},7]`: `[{"id":1},7]`, `{"id":"seven","more":[ ]}`: `{"id":"seven","more":[ ]}`, `null`: `null`, `1e999`: `1e999`,
	} {
		s.answer(says(200, `{"data":{"message__0": `+said+` }}`))
		e.answers(admin(), `{"author_by_pk":{"message":`+want+`}}`, `{ author_by_pk(id: 1) { message { id } } }`, "")
	}
	for said, want := range map[string]string{
		`null`: `null`, `{"author":null}`: `null`, `{"author":{"friends":null}}`: `null`, `{"author":{"friends":[]}}`: `[]`,
		`{"author":{"friends":[null,{"says":"x"}]}}`: `[null,"x"]`, `{"author":{"friends":{"says":"one"}}}`: `"one"`, `[{"author":{"friends":[]}}]`: `[[]]`,
	} {
		s.answer(says(200, `{"data":{"deep__0":`+said+`}}`))
		e.answers(admin(), `{"author_by_pk":{"deep":`+want+`}}`, `{ author_by_pk(id: 1) { deep } }`, "")
	}
	for said, path := range map[string]string{
		`7`: "deep__0.author", `{}`: "deep__0.author", `{"author":[1]}`: "deep__0.author.friends", `{"author":{"friends":[{"says":"x"},{"said":"y"}]}}`: "deep__0.author.friends.says",
	} {
		s.answer(says(200, `{"data":{"deep__0":`+said+`}}`))
		_, err := e.ask(admin(), `{ author_by_pk(id: 1) { deep } }`, "")
		require.Equal(t, "cannnot find value in remote response at path "+path, refusal(t, err).Message)
	}
}

func TestErrorsOfSomeRowsLeaveTheOthersTheirValues(t *testing.T) {
	t.Parallel()
	s := startJoinServer(t, messageTypes, messages())
	e := faultEngine(t, execution.Config{}, s)
	e.answers(admin(), `{"author":[{"lenient":null},{"lenient":null},{"lenient":null}]}`, `{ author { lenient { id broken } } }`, "")
	s.answer(says(200, `{"data":{"lenient__0":{"id":1},"lenient__1":null,"lenient__2":{"id":3}},"errors":[{"message":"gone","path":["lenient__1"]}]}`))
	e.answers(admin(), `{"author":[{"lenient":{"id":1}},{"lenient":null},{"lenient":{"id":3}}]}`, `{ author(order_by: {id: asc}) { lenient { id } } }`, "")
}

// When one batch fails nobody waits for the others.
func TestTheFirstFailureEndsTheOtherRequests(t *testing.T) {
	t.Parallel()
	s := startJoinServer(t, messageTypes, messages())
	e := faultEngine(t, execution.Config{Joins: execution.Joins{Batch: 1, Concurrency: 3}}, s)
	var arrived, ended sync.WaitGroup
	arrived.Add(2)
	ended.Add(2)
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("id: 2")) {
			arrived.Wait()
			hangsUp(w, r)
			return
		}
		arrived.Done()
		sleeps(w, r)
		ended.Done()
	})
	_, err := e.ask(admin(), `{ author(order_by: {id: asc}) { message { id } } }`, "")
	require.Equal(t, "NoResponseDataReceived", refusal(t, err).Message)
	ended.Wait()
}

func TestNothingStaysBehindOfRequestsThatFailed(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := faultEngine(t, execution.Config{Joins: execution.Joins{Batch: 1}}, s)
	_, err := e.ask(admin(), `{ author { message { id } } }`, "")
	require.NoError(t, err)
	before := runtime.NumGoroutine()
	for i := range 200 {
		s.answer(remoteFaults[2+i%(len(remoteFaults)-2)].does) // those that take their time are tried once, above
		_, err := e.ask(admin(), fmt.Sprintf(`{ author { %s { id } } }`, []string{"message", "lenient"}[i%2]), "")
		require.Equal(t, i%2 == 0, err != nil, "%d: %v", i, err)
	}
	const perConnection = 3 // that wait at both ends of a connection that is kept for the next request
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+perConnection*execution.DefaultJoinConcurrency }, time.Minute, 10*time.Millisecond)
	require.Zero(t, e.conns.Stat().AcquiredConns())
}
