package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
	"annals/handlers/api/auth"
)

func callerOf(role string) *auth.Caller {
	return &auth.Caller{Session: domain.Session{Role: role}}
}

func TestInternalDetailsAreForThoseWhoMaySeeThem(t *testing.T) {
	for _, c := range []struct {
		name   string
		cfg    Config
		caller *auth.Caller
		want   bool
	}{
		{"an admin", Config{}, callerOf("admin"), true},
		{"an admin, where they are hidden", Config{HideInternal: true}, callerOf("admin"), false},
		{"an admin, where they are hidden, in dev mode", Config{HideInternal: true, DevMode: true}, callerOf("admin"), true},
		{"another role", Config{}, callerOf("user"), false},
		{"another role in dev mode", Config{DevMode: true}, callerOf("user"), true},
		{"one who was not let in", Config{}, nil, false},
		{"one who was not let in, in dev mode", Config{DevMode: true}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &API{cfg: c.cfg}
			require.Equal(t, c.want, a.showsInternal(&exchange{caller: c.caller}))
		})
	}
}

// operation is a call of which only the name matters.
type operation string

func (o operation) Operation() string { return string(o) }

func TestOnlyReadingAndWritingRowsIsForEveryRole(t *testing.T) {
	for _, c := range []struct {
		name    string
		command metadata.Command
		want    bool
	}{
		{"select", operation("select"), false},
		{"insert", operation("insert"), false},
		{"update", operation("update"), false},
		{"delete", operation("delete"), false},
		{"count", operation("count"), false},
		{"run_sql", operation("run_sql"), true},
		{"export_metadata", operation("export_metadata"), true},
		{"an empty bulk", metadata.Bulk{}, false},
		{"a bulk of rows", metadata.Bulk{Items: []metadata.Command{operation("select"), operation("count")}}, false},
		{"a bulk with one item for admins", metadata.Bulk{Items: []metadata.Command{operation("select"), operation("run_sql")}}, true},
		{"a bulk within a bulk", metadata.Bulk{Items: []metadata.Command{metadata.Bulk{Items: []metadata.Command{operation("run_sql")}}}}, true},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, needsAdmin(c.command)) })
	}
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "abc", cut("abc", 3))
	require.Equal(t, "ab", cut("abc", 2))
	require.Equal(t, "é", cut("éé", 3))
	require.Equal(t, "", cut("é", 1))
}
