package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/metadata"
)

func TestObjectsAreNamedAsOneSpeaksOfThem(t *testing.T) {
	for key, name := range map[metadata.Key]string{
		{Kind: metadata.KindPermission, Name: "public.album.user.select"}:     "permission public.album user select",
		{Kind: metadata.KindPermission, Name: `public."a.b"."x y".select`}:    `permission public."a.b" "x y" select`,
		{Kind: metadata.KindRelationship, Name: "public.album.artist"}:        "relationship public.album artist",
		{Kind: metadata.KindTable, Name: "public.album"}:                      "table public.album",
		{Kind: metadata.KindCronTrigger, Name: "nightly"}:                     "cron trigger nightly",
		{Kind: metadata.KindActionPermission, Name: "create_user.user"}:       "action permission create_user user",
		{Kind: metadata.KindCustomTypes, Name: "custom_types"}:                "custom types",
		{Kind: metadata.KindRemoteRelationship, Name: "public.album.reviews"}: "remote relationship public.album reviews",
	} {
		require.Equal(t, name, nameOf(key))
	}
}

func TestAChangeTellsWhatIsDifferent(t *testing.T) {
	key := func(before, after string) metadata.Change {
		return metadata.Change{Kind: metadata.KindTable, Name: "public.album", Before: json.RawMessage(before), Definition: json.RawMessage(after)}
	}
	for _, c := range []struct {
		name   string
		change metadata.Change
		text   string
	}{
		{"made", key("", `{"a":1}`), "+ table public.album\n"},
		{"gone", key(`{"a":1}`, ""), "- table public.album\n"},
		{"a member within", key(`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":[2, 3]}}`), "~ table public.album\n    a.c: 2 → [2,3]\n"},
		{"a member more", key(`{}`, `{"a":true}`), "~ table public.album\n    a: null → true\n"},
		{"a member less", key(`{"a":"x"}`, `{}`), "~ table public.album\n    a: \"x\" → null\n"},
		{"an object in the place of a value", key(`{"a":1}`, `{"a":{}}`), "~ table public.album\n    a: 1 → {}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			console{}.printChanges(&b, "", []metadata.Change{c.change})
			require.Equal(t, c.text, b.String())
		})
	}
}

func TestAnAuthorIsTheUserWhoTypedElseTheRole(t *testing.T) {
	require.Equal(t, "admin", who(domain.Actor{Role: "admin"}))
	require.Equal(t, "admin (admin-secret)", who(domain.Actor{Role: "admin", Credential: "admin-secret"}))
	require.Equal(t, "ana (cli)", who(domain.Actor{Role: "admin", Credential: "cli", Session: map[string]string{userVariable: "ana"}}))
}

func TestTextOfOthersCannotMoveTheCursor(t *testing.T) {
	require.Equal(t, "a b\uFFFD[31mc\uFFFDd", oneLine("a\nb\x1b[31mc\u202ed\n"))
	require.Equal(t, "{\n  \"a\": \"é\\u009b31m\\u202e\\udb40\\udc41\"\n}", pretty(json.RawMessage("{\"a\":\"é\u009b31m\u202e\U000E0041\"}"), ""))
	require.Equal(t, "no JSON\uFFFD[31m", pretty(json.RawMessage("no JSON\x1b[31m"), ""))
}

func TestColumnsAreAsWideAsTheirWidestCellWithoutItsColours(t *testing.T) {
	c := console{colours: true}
	lines := table{{"A", "B"}, {c.paint(red, "éé"), "x"}, {"long", c.paint(green, "y")}}
	require.Equal(t, "A     B\n\x1b[31méé\x1b[0m    x\nlong  \x1b[32my\x1b[0m\n", lines.String())
}
