package metadata

import (
	"encoding/json"
	"testing"
)

// Whatever a body says, it is refused or becomes a command that can be kept;
// a decision on it is refused or can be recorded, and its secrets hidden.
func FuzzABodyNeverBreaksTheService(f *testing.F) {
	for _, seed := range []string{
		createTrigger(`"update":{"columns":["name"],"payload":"*"},"retry_conf":{"num_retries":1}`),
		createCron(`"payload":{"a":1},"retry_conf":{"timeout_seconds":0.5}`),
		createAction(`,"arguments":[{"name":"a","type":"[Email!]"}],"timeout":3`),
		createRemote(`{"messages":{"arguments":{"where":{"id":{"eq":"$id"}}},"field":{"author":{"arguments":{}}}}}`, "id"),
		setTypes + `{"objects":[{"name":"O","fields":[{"name":"id","type":"[Int]!"}],"relationships":[{"name":"r","type":"array","remote_table":"author","field_mapping":{"id":"id"}}]}]}}`,
		`{"type":"create_scheduled_event","args":{"webhook":{"from_env":"A"},"schedule_at":"2020-01-01 00:00Z"}}`,
		`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://{{A}}","headers":[{"name":"a","value":"b"}]}}}`,
		`{"type":"invoke_event_trigger","args":{"name":"t","payload":null}}`,
		`{"type":"drop_action","args":{"name":"act"}}`,
	} {
		f.Add([]byte(seed))
	}
	objects := append(tracked("author"), userTypes(), action("act"), messages(f), trigger("t", "name"))
	w := NewWorld(catalogWith(objects...), shapeOf(authors()...), Environment{"A": "a"})
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Parse(body)
		if err != nil {
			return
		}
		if _, ok := req.Command.(Bulk); ok {
			return // each item is a body of its own
		}
		if kept := Encode(req.Command); !json.Valid(Mask(kept)) {
			t.Fatalf("%s is kept as %s", body, kept)
		}
		if c, ok := req.Command.(Checked); ok {
			_ = c.Check(w) // may refuse
		}
		if d, ok := req.Command.(Decider); ok {
			if decision, err := Decide(w, 9, d); err == nil && !json.Valid(Mask(EncodeChanges(decision.Changes))) {
				t.Fatalf("%s changes %s", body, EncodeChanges(decision.Changes))
			}
		}
	})
}
