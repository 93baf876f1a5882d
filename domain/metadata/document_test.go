package metadata

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// documentShape is the database that generated documents speak of.
func documentShape() (shape World) {
	s := shapeOf(
		tableOf("author", "id int4 pk", "name text", "born date"),
		tableOf("article", "id int4 pk", "title text", "author_id int4"),
		tableOf("odd.Wéird \"table\"", "id int4 pk", "name text"),
	)
	return NewWorld(Catalog{}, s, Environment{"HOST": "127.0.0.1"})
}

// draw is a rapid generator of JSON text.
type draw struct{ *rapid.T }

func (d draw) one(label string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(d.T, label)
}

// some joins a random selection of parts, in a random order.
func (d draw) some(label string, parts ...string) string {
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(parts), 0, len(parts), rapid.ID[string]).Draw(d.T, label)
	return "[" + strings.Join(chosen, ",") + "]"
}

// maybe gives a member with a comma before it, or nothing.
func (d draw) maybe(name string, value func() string) string {
	if !rapid.Bool().Draw(d.T, name+" given") {
		return ""
	}
	return `,"` + name + `":` + value()
}

func (d draw) comment() string {
	return d.maybe("comment", func() string { return d.one("comment", `"why"`, `""`, `"\u00e9 \" \\ </script>"`, `null`) })
}

func (d draw) filter() string {
	return d.one("filter", `{}`, `{"id":{"_eq":1}}`, `{"$or":[{"id":"X-Hasura-User-Id"},{"name":{"$like":"%a"}}]}`,
		`{"_not":{"name":{"_in":["a","b"]}}}`, `{"id":{"_gt":1.50}}`, `{"_and":[]}`)
}

func (d draw) permission(kind string) string {
	columns := d.one("columns", `"*"`, `["id"]`, `["name","id"]`, `[]`)
	switch kind {
	case "insert":
		return `{"check":` + d.filter() + d.maybe("columns", func() string { return columns }) +
			d.maybe("set", func() string { return d.one("set", `{}`, `{"name":"x","id":"x-service-id"}`) }) +
			d.maybe("backend_only", func() string { return d.one("backend_only", "true", "false") }) + `}`
	case "select":
		return `{"columns":` + columns + `,"filter":` + d.filter() +
			d.maybe("limit", func() string { return "10" }) + d.maybe("allow_aggregations", func() string { return d.one("aggregations", "true", "false") }) + `}`
	case "update":
		return `{"columns":` + columns + `,"filter":` + d.filter() + d.maybe("check", func() string { return d.one("check", "null", "{}") }) +
			d.maybe("set", func() string { return `{"name":null}` }) + `}`
	}
	return `{"filter":` + d.filter() + `}`
}

func (d draw) permissions(kind string) string {
	return d.maybe(kind+"_permissions", func() string {
		var parts []string
		for _, role := range []string{`user`, `a.b`, `\"quoted\"`} {
			parts = append(parts, `{"role":"`+role+`","permission":`+d.permission(kind)+d.comment()+`}`)
		}
		return d.some(kind, parts...)
	})
}

func (d draw) header() string {
	return d.one("header", `{"name":"a","value":"b"}`, `{"name":"a","value_from_env":"HOST"}`)
}

func (d draw) trigger(name string) string {
	return `{"name":"` + name + `","definition":{"enable_manual":` + d.one("manual", "true", "false") +
		`,"insert":{"columns":"*"}` + d.maybe("update", func() string { return `{"columns":["name"],"payload":["id","name"]}` }) + `}` +
		`,"retry_conf":{"num_retries":1,"interval_sec":2` + d.maybe("timeout_sec", func() string { return "3" }) + `}` +
		d.one("webhook", `,"webhook":"http://{{HOST}}/x?token=1"`, `,"webhook_from_env":"HOST"`) +
		d.maybe("headers", func() string { return d.some("headers", d.header()) }) + `}`
}

func (d draw) table(name, triggers string) string {
	return `{"table":` + name + d.maybe("configuration", func() string {
		return d.one("configuration", `{}`, `{"custom_root_fields":{"select":"rows_`+triggers+`"},"custom_column_names":{"name":"label"}}`, `{"custom_column_names":{}}`, `{"custom_name":"thing_`+triggers+`"}`)
	}) + d.maybe("object_relationships", func() string {
		return d.some("object", `{"name":"self","using":{"manual_configuration":{"remote_table":`+name+`,"column_mapping":{"id":"id"}}}`+d.comment()+`}`)
	}) + d.maybe("array_relationships", func() string {
		return d.some("array", `{"name":"others","using":{"manual_configuration":{"remote_table":`+name+`,"column_mapping":{"id":"id","name":"name"}}}}`)
	}) + d.permissions("insert") + d.permissions("select") + d.permissions("update") + d.permissions("delete") +
		d.maybe("event_triggers", func() string { return d.some("triggers", d.trigger(triggers+"1"), d.trigger(triggers+"2")) }) + `}`
}

func (d draw) collection(name string) string {
	return `{"name":"` + name + `","definition":{"queries":` + d.some("queries", `{"name":"q","query":"query { a }"}`, `{"name":"r","query":"{ b # c\n}"}`) + `}` + d.comment() + `}`
}

func (d draw) cronTrigger(name string) string {
	return `{"name":"` + name + `","webhook":"http://{{HOST}}/","schedule":"` + d.one("schedule", "* * * * *", "0 22 * * 1-5") + `","include_in_metadata":true` +
		d.maybe("payload", func() string { return d.one("payload", `{"b":1,"a":[1.0]}`, `"x"`) }) + d.comment() +
		d.maybe("retry_conf", func() string { return d.one("retry", `{}`, `{"num_retries":3,"timeout_seconds":1.5}`) }) +
		d.maybe("headers", func() string { return d.some("headers", d.header()) }) + `}`
}

func (d draw) action(name string) string {
	return `{"name":"` + name + `","definition":{"handler":"http://{{HOST}}/","output_type":"Out","arguments":[{"name":"a","type":"[In!]!"}]` +
		d.maybe("type", func() string { return `"mutation"` }) + d.maybe("kind", func() string { return d.one("kind", `"synchronous"`, `"asynchronous"`) }) +
		d.maybe("timeout", func() string { return d.one("timeout", "30", "5") }) +
		d.maybe("forward_client_headers", func() string { return d.one("forward", "true", "false") }) + `}` + d.comment() +
		d.maybe("permissions", func() string { return d.some("roles", `{"role":"user"}`, `{"role":"editor","comment":"c"}`) }) + `}`
}

const documentTypes = `{"input_objects":[{"name":"In","fields":[{"name":"a","type":"Int!","description":"d"}]}],"scalars":[{"name":"Mail"}],
	"objects":[{"name":"Out","fields":[{"name":"id","type":"Int!"},{"name":"mail","type":"Mail"}]}],"enums":[{"name":"Color","values":[{"value":"RED","is_deprecated":true}]}]}`

func (d draw) document() string {
	doc := `{"version":2,"tables":` + d.some("tables", d.table(`"author"`, "a"), d.table(`{"schema":"odd","name":"Wéird \"table\""}`, "b"))
	doc += d.maybe("query_collections", func() string { return `[` + d.collection("one") + `,` + d.collection(`two words`) + `]` })
	if strings.Contains(doc, `"query_collections":`) {
		doc += d.maybe("allowlist", func() string { return d.some("allowed", `{"collection":"one"}`, `{"collection":"two words"}`) })
	}
	doc += `,"custom_types":` + documentTypes
	doc += d.maybe("actions", func() string { return d.some("actions", d.action("act"), d.action("react")) })
	doc += d.maybe("cron_triggers", func() string { return d.some("crons", d.cronTrigger("daily"), d.cronTrigger("x.y")) })
	return doc + `}`
}

// replaced makes a document the metadata of a world.
func replaced(t require.TestingT, w World, document string) Decision {
	req, err := Parse([]byte(`{"type":"replace_metadata","args":` + document + `}`))
	require.NoError(t, err, document)
	decision, err := Decide(w, 1, req.Command.(Decider))
	require.NoError(t, err, document)
	return decision
}

func TestExportReplaceExportIsTheIdentity(t *testing.T) {
	empty := documentShape()
	rapid.Check(t, func(t *rapid.T) {
		first := replaced(t, empty, draw{t}.document())
		exported := string(Export(first.World.Catalog))

		again := replaced(t, empty, exported)
		require.Equal(t, exported, string(Export(again.World.Catalog)))
		require.Empty(t, replaced(t, first.World, exported).Changes, "what is exported is not what stands")
	})
}

func TestReplacingOneDocumentByAnotherLeavesTheOther(t *testing.T) {
	empty := documentShape()
	rapid.Check(t, func(t *rapid.T) {
		one, other := draw{t}.document(), draw{t}.document()
		there := replaced(t, empty, one)
		back := replaced(t, there.World, other)
		require.Equal(t, string(Export(replaced(t, empty, other).World.Catalog)), string(Export(back.World.Catalog)))
		require.Empty(t, Difference(back.World.Catalog, there.World.Catalog.Evolve(2, back.Changes)))
	})
}

func TestEmptyMetadataExportsItsTwoMembers(t *testing.T) {
	require.Equal(t, `{"version":2,"tables":[]}`, string(Export(Catalog{})))
}

func TestATableEntryWithUnknownKeysIsRefused(t *testing.T) {
	_, err := Parse([]byte(`{"type":"replace_metadata","args":{"version":2,"tables":[{"table":"author","colour":1}]}}`))
	require.EqualError(t, err, "parse-failed at $.tables[0]: unexpected keys when parsing TableMetadata : [colour]")
}

func TestObjectsDeclaredTwiceAreRefused(t *testing.T) {
	req, err := Parse([]byte(`{"type":"replace_metadata","args":{"version":2,"tables":[{"table":"author"},{"table":{"name":"author"}}]}}`))
	require.NoError(t, err)
	_, err = Decide(documentShape(), 1, req.Command.(Decider))
	require.EqualError(t, err, `already-exists at $.args.tables: multiple declarations exist for the following objects : ["table author"]`)
}

func TestCronTriggersOutsideTheDocumentAreLeftAlone(t *testing.T) {
	w := replaced(t, documentShape(), `{"tables":[]}`).World
	hidden := CronTrigger{Name: "hidden", Webhook: "http://127.0.0.1/", Schedule: "* * * * *"}
	w = w.Evolve(1, put(w.Catalog, hidden))
	require.NotContains(t, string(Export(w.Catalog)), "hidden")
	require.Empty(t, replaced(t, w, `{"version":2,"tables":[]}`).Changes)
}

func TestADocumentOfVersionOneMayNameFunctionsPlainly(t *testing.T) {
	_, err := Parse([]byte(`{"type":"replace_metadata","args":{"tables":[],"functions":["f",{"schema":"s","name":"g"}]}}`))
	require.NoError(t, err)
	_, err = Parse([]byte(fmt.Sprintf(`{"type":"replace_metadata","args":{"version":%d,"tables":[]}}`, 3)))
	require.EqualError(t, err, "parse-failed at $.version: expected 1 or 2, encountered 3")
}
