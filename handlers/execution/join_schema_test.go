package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/command"
	"annals/handlers/execution"
)

// refuses is why a call of the metadata API is not carried out.
func (e *engine) refuses(body string) *domain.Error {
	e.t.Helper()
	req, err := metadata.Parse([]byte(body))
	require.NoError(e.t, err)
	_, err = e.Handler.Execute(e.t.Context(), command.Request{Request: req, Session: admin(), Actor: domain.Actor{Role: domain.AdminRole}})
	return refusal(e.t.(*testing.T), err)
}

func runSQL(sql, more string) string {
	return `{"type":"run_sql","args":{"sql":"` + sql + `"` + more + `}}`
}

func TestAJoinKeyIsNotDroppedBehindTheRelationshipsBack(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	require.Equal(t, domain.RefuseAt("$.args", domain.DependencyError, "cannot drop due to the following dependent objects : remote relationship author.total"),
		e.refuses(runSQL("ALTER TABLE author DROP COLUMN ratio", "")))
	e.answers(admin(), `{"author_by_pk":{"total":7}}`, `{ author_by_pk(id: 1) { total } }`, "")
	e.Do(runSQL("ALTER TABLE author DROP COLUMN ratio", `,"cascade":true`))
	_, err := e.ask(admin(), `{ author { total } }`, "")
	require.Equal(t, "field \"total\" not found in type: 'author'", refusal(t, err).Message)
	e.answers(admin(), `{"author_by_pk":{"message":{"id":1}}}`, `{ author_by_pk(id: 1) { message { id } } }`, "")
}

func TestJoinsFollowTheRenamesOfTheirTableAndColumns(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	e.Do(runSQL("ALTER TABLE author RENAME COLUMN id TO number; ALTER TABLE author RENAME COLUMN name TO called", ""))
	e.answers(admin(), `{"author_by_pk":{"says":"1 says Ann\u003cnil\u003e","named":{"id":1}}}`, `{ author_by_pk(number: 1) { says named { id } } }`, "")
	e.Do(runSQL("ALTER TABLE author RENAME TO writer", ""))
	e.answers(admin(), `{"writer_by_pk":{"list":[{"id":1}],"friendly":["1a says nothing\u003cnil\u003e","1b says nothing\u003cnil\u003e"]}}`, `{ writer_by_pk(number: 1) { list { id } friendly } }`, "")
	require.Contains(t, e.fieldsOf(admin(), "writer"), "message")
	require.Contains(t, e.fieldsOf(admin(), "Filter_remote_rel_public_writerlist"), "kind")
}

func TestARemoteSchemaIsNotRemovedWhileRowsAreJoinedToIt(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	refused := e.refuses(`{"type":"remove_remote_schema","args":{"name":"messages"}}`)
	require.Equal(t, domain.DependencyError, refused.Code)
	require.Contains(t, refused.Message, "cannot drop due to the following dependent objects : remote relationship author.found, ")
	require.Equal(t, "$.args", refused.Path)
	e.Do(`{"type":"remove_remote_schema","args":{"name":"messages","cascade":true}}`)
	_, err := e.ask(admin(), `{ author { message { id } } }`, "")
	require.Equal(t, domain.ValidationFailed, refusal(t, err).Code)
	e.answers(admin(), `{"author":[{"id":1},{"id":2},{"id":3}]}`, `{ author(order_by: {id: asc}) { id } }`, "")
}

func TestAnUpdatedRelationshipIsAskedAnewThoughItsPlanWasKept(t *testing.T) {
	s := startJoinServer(t, messageTypes, messages())
	e := joinEngine(t, execution.Config{}, s)
	const query = `{ author_by_pk(id: 3) { message { id } } }`
	for range 2 {
		e.answers(admin(), `{"author_by_pk":{"message":{"id":3}}}`, query, "")
	}
	e.Do(`{"type":"update_remote_relationship","args":{"name":"message","table":"author","hasura_fields":["id"],"remote_schema":"messages","remote_field":{"message":{"arguments":{"id":5}}}}}`)
	e.answers(admin(), `{"author_by_pk":{"message":{"id":5}}}`, query, "")
	e.Do(`{"type":"delete_remote_relationship","args":{"name":"message","table":"author"}}`)
	_, err := e.ask(admin(), query, "")
	require.Equal(t, domain.RefuseAt("$.selectionSet.author_by_pk.selectionSet.message", domain.ValidationFailed, "field \"message\" not found in type: 'author'"), refusal(t, err))
}
