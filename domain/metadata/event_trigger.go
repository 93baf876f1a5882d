package metadata

import (
	"iter"
	"math"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

var eventTriggerSubject = subject{
	kind: KindEventTrigger, decode: decodeObject[EventTrigger],
	created: "event_trigger_created", changed: "event_trigger_changed", dropped: "event_trigger_dropped",
}

var eventTriggerOperations = withPgAliases([]operation{
	{"create_event_trigger", 1, decodeCreateEventTrigger},
	{"delete_event_trigger", 1, decodeDeleteEventTrigger},
}, "create_event_trigger", "delete_event_trigger")

// EventTrigger sends the changes of a table's rows to a webhook. Its name is
// its own in the whole catalog, not only on its table.
type EventTrigger struct {
	Table          domain.QualifiedName `json:"table"`
	Name           string               `json:"name"`
	Definition     EventTriggerSpec     `json:"definition"`
	RetryConf      EventRetryConf       `json:"retry_conf"`
	Webhook        *string              `json:"webhook,omitzero"`
	WebhookFromEnv *string              `json:"webhook_from_env,omitzero"`
	Headers        []Header             `json:"headers,omitzero"`
	// OrderingKey names a column: rows with the same value are delivered one
	// after another, in the order of their changes.
	OrderingKey *string `json:"ordering_key,omitzero"`
	DeliveryOptions
}

// EventTriggerSpec says which changes are sent. EnableManual allows the
// trigger to be invoked by a call.
type EventTriggerSpec struct {
	EnableManual bool           `json:"enable_manual"`
	Insert       *OperationSpec `json:"insert,omitzero"`
	Update       *OperationSpec `json:"update,omitzero"`
	Delete       *OperationSpec `json:"delete,omitzero"`
}

// OperationSpec says for one operation which columns are observed, and which
// are sent; nil sends all. What is observed matters for updates only: one that
// changes none of these columns is not sent.
type OperationSpec struct {
	Columns EventColumns  `json:"columns"`
	Payload *EventColumns `json:"payload,omitzero"`
}

// EventColumns is all columns of a table, written "*", or a list of them.
type EventColumns struct {
	All   bool
	Names []string
}

// MarshalJSONTo writes "*" or the list.
func (c EventColumns) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.All {
		return enc.WriteToken(jsontext.String("*"))
	}
	return enc.WriteValue(jsontext.Value(encode(c.Names)))
}

// UnmarshalJSONFrom reads "*" or a list.
func (c *EventColumns) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = EventColumns{}
	if dec.PeekKind() == '"' {
		c.All = true
		return dec.SkipValue()
	}
	raw, err := dec.ReadValue()
	if err == nil {
		c.Names, err = decode[[]string](raw)
	}
	return err
}

// EventRetryConf says how often and when a failed delivery is tried again.
type EventRetryConf struct {
	NumRetries  int  `json:"num_retries"`
	IntervalSec int  `json:"interval_sec"`
	TimeoutSec  *int `json:"timeout_sec,omitzero"`
	RetryOptions
}

// What an event trigger does when its retry_conf does not say.
const (
	defaultNumRetries  = 0
	defaultIntervalSec = 10
	defaultTimeoutSec  = 60
)

// Timeout is how many seconds a webhook may take to answer.
func (c EventRetryConf) Timeout() int {
	if c.TimeoutSec == nil {
		return defaultTimeoutSec
	}
	return *c.TimeoutSec
}

// specs returns the specifications that are given.
func (s EventTriggerSpec) specs() []*OperationSpec {
	return slices.DeleteFunc([]*OperationSpec{s.Insert, s.Update, s.Delete}, func(spec *OperationSpec) bool { return spec == nil })
}

func eventTriggerKey(name string) Key { return keyOf(KindEventTrigger, name) }

// Key implements [Object].
func (t EventTrigger) Key() Key { return eventTriggerKey(t.Name) }

func (t EventTrigger) String() string { return "event-trigger " + t.Table.String() + "." + t.Name }

func (t EventTrigger) owner() domain.QualifiedName { return t.Table }

func (t EventTrigger) resolve(r *resolver) {
	r.within("in table %q: in event trigger %q: ", t.Table, t.Name)
	_, shape, ok := r.ownTable(t.Table)
	if !ok {
		return
	}
	if t.WebhookFromEnv != nil {
		r.env(*t.WebhookFromEnv)
	} else {
		r.template(*t.Webhook)
	}
	r.headers(t.Headers)
	t.DeliveryOptions.resolve(r)
	if t.OrderingKey != nil && r.column(shape, *t.OrderingKey) == nil {
		r.failPlain("table %q has no field named %q", shape.Name, *t.OrderingKey)
	}
	for _, spec := range t.Definition.specs() {
		spec.resolve(r, shape)
	}
	if !observable(shape.Kind) && len(t.Definition.specs()) > 0 {
		r.fail("the rows of a %s cannot be observed", shape.Kind)
	}
}

// observable reports whether PostgreSQL has row triggers that run after a
// change of such a relation.
func observable(kind database.TableKind) bool {
	return kind != database.View && kind != database.MaterializedView
}

func (s *OperationSpec) resolve(r *resolver, t *database.Table) {
	names := s.Columns.Names
	if s.Payload != nil {
		names = slices.Concat(names, s.Payload.Names)
	}
	for _, name := range names {
		if r.column(t, name) == nil {
			r.failPlain("table %q has no field named %q", t.Name, name)
		}
	}
}

func (t EventTrigger) described() description {
	return description{"event_trigger", struct {
		Table         domain.QualifiedName `json:"table"`
		Configuration any                  `json:"configuration"`
	}{t.Table, t.exported()}}
}

func (t EventTrigger) exported() any {
	return struct {
		Name           string           `json:"name"`
		Definition     EventTriggerSpec `json:"definition"`
		RetryConf      EventRetryConf   `json:"retry_conf"`
		Webhook        *string          `json:"webhook,omitzero"`
		WebhookFromEnv *string          `json:"webhook_from_env,omitzero"`
		Headers        []Header         `json:"headers,omitzero"`
		OrderingKey    *string          `json:"ordering_key,omitzero"`
		DeliveryOptions
	}{t.Name, t.Definition, t.RetryConf, t.Webhook, t.WebhookFromEnv, t.Headers, t.OrderingKey, t.DeliveryOptions}
}

func (t EventTrigger) renamed(r Rename) Object {
	d := &t.Definition
	d.Insert, d.Update, d.Delete = d.Insert.renamed(r, t.Table), d.Update.renamed(r, t.Table), d.Delete.renamed(r, t.Table)
	if t.OrderingKey != nil {
		t.OrderingKey = &r.columns(t.Table, []string{*t.OrderingKey})[0]
	}
	t.Table = r.table(t.Table)
	return t
}

func (s *OperationSpec) renamed(r Rename, table domain.QualifiedName) *OperationSpec {
	if s == nil {
		return nil
	}
	spec := *s
	spec.Columns.Names = r.columns(table, spec.Columns.Names)
	if s.Payload != nil {
		spec.Payload = &EventColumns{s.Payload.All, r.columns(table, s.Payload.Names)}
	}
	return &spec
}

// decodeEventTriggerEntry reads a trigger's entry in the metadata document.
func decodeEventTriggerEntry(n wire.Node, table domain.QualifiedName) EventTrigger {
	t := decodeEventTrigger(n, n.Field("definition"))
	t.Table = table
	t.check(n)
	return t
}

// decodeEventTrigger reads a trigger whose specifications lie in a node of
// their own, all but its table.
func decodeEventTrigger(n, specs wire.Node) EventTrigger {
	return EventTrigger{
		Name: n.Field("name").Text(),
		Definition: EventTriggerSpec{
			EnableManual: specs.Optional("enable_manual").BoolOr(false),
			Insert:       wire.Pointer(specs.Optional("insert"), decodeOperationSpec),
			Update:       wire.Pointer(specs.Optional("update"), decodeOperationSpec),
			Delete:       wire.Pointer(specs.Optional("delete"), decodeOperationSpec),
		},
		RetryConf:      decodeEventRetryConf(n.Optional("retry_conf")),
		Webhook:        wire.Pointer(n.Optional("webhook"), decodeURLTemplate),
		WebhookFromEnv: wire.Pointer(n.Optional("webhook_from_env"), decodeVariable),
		Headers:        decodeHeaders(n.Optional("headers")),
		OrderingKey:    wire.Pointer(n.Optional("ordering_key"), wire.Node.Column),

		DeliveryOptions: decodeDeliveryOptions(n),
	}
}

// maxEventTriggerName is how long a trigger's name can be: in v1.3 it is part
// of the names of database triggers.
const maxEventTriggerName = 42

var eventTriggerName = regexp.MustCompile(`^[A-Za-z]+[A-Za-z0-9_\-]*$`)

// check reports what is wrong with the trigger as a whole, in v1.3's order.
func (t EventTrigger) check(n wire.Node) {
	specs := t.Definition.specs()
	switch {
	case !eventTriggerName.MatchString(t.Name):
		n.Fail("only alphanumeric and underscore and hyphens allowed for name")
	case len(t.Name) > maxEventTriggerName:
		n.Fail("event trigger name can be at most %d characters", maxEventTriggerName)
	case len(specs) == 0 && !t.Definition.EnableManual:
		n.Fail("atleast one amongst insert/update/delete/enable_manual spec must be provided")
	case t.Webhook != nil && t.WebhookFromEnv != nil:
		n.Fail("only one of webhook or webhook_from_env should be given")
	case t.Webhook == nil && t.WebhookFromEnv == nil:
		n.Fail("must provide webhook or webhook_from_env")
	}
	for _, spec := range specs {
		if spec.Columns.empty() {
			n.Fail("found empty column specification")
		}
		if spec.Payload != nil && spec.Payload.empty() {
			n.Fail("found empty payload specification")
		}
	}
}

func (c EventColumns) empty() bool { return !c.All && len(c.Names) == 0 }

func decodeOperationSpec(n wire.Node) OperationSpec {
	return OperationSpec{
		Columns: decodeEventColumns(n.Field("columns")),
		Payload: wire.Pointer(n.Optional("payload"), decodeEventColumns),
	}
}

func decodeEventColumns(n wire.Node) EventColumns {
	switch {
	case !n.Given():
	case n.Kind() == wire.Array:
		return EventColumns{Names: wire.List(n, wire.Node.Column)}
	case n.Kind() != wire.String:
		n.Fail("unexpected columns")
	case n.String() != "*":
		n.Fail("only * or [] allowed")
	}
	return EventColumns{All: true}
}

func decodeEventRetryConf(n wire.Node) EventRetryConf {
	if !n.Present() {
		timeout := defaultTimeoutSec
		return EventRetryConf{NumRetries: defaultNumRetries, IntervalSec: defaultIntervalSec, TimeoutSec: &timeout}
	}
	return EventRetryConf{
		NumRetries:  countOr(n.Optional("num_retries"), defaultNumRetries),
		IntervalSec: countOr(n.Optional("interval_sec"), defaultIntervalSec),
		TimeoutSec:  wire.Pointer(n.Optional("timeout_sec"), count),

		RetryOptions: decodeRetryOptions(n),
	}
}

// count reads a whole number that is not negative and fits a database's
// integer.
func count(n wire.Node) int {
	i := n.Int()
	switch {
	case i < 0:
		n.Fail("negative value not allowed")
	case i > math.MaxInt32:
		n.Fail("the value can be at most %d", math.MaxInt32)
	}
	return i
}

func countOr(n wire.Node, missing int) int {
	if !n.Present() {
		return missing
	}
	return count(n)
}

// CreateEventTrigger is create_event_trigger. With Replace the trigger must be
// there, and becomes what is given.
type CreateEventTrigger struct {
	EventTrigger
	Replace bool `json:"replace"`
}

// Operation implements [Command].
func (CreateEventTrigger) Operation() string { return "create_event_trigger" }

func decodeCreateEventTrigger(n wire.Node) Command {
	c := CreateEventTrigger{decodeEventTrigger(n, n), n.Optional("replace").BoolOr(false)}
	c.Table = n.Field("table").Name()
	c.check(n)
	return c
}

func (c CreateEventTrigger) names(World) Names { return Names{Tables: []domain.QualifiedName{c.Table}} }

func (CreateEventTrigger) demand() demand { return ownStands }

func (c CreateEventTrigger) decide(w World) ([]Change, error) {
	if !w.Standing.Stands(tableKey(c.Table)) {
		return nil, refuse(domain.NotExists, "table %q does not exist", c.Table)
	}
	old, known := lookup[EventTrigger](w.Catalog, c.Key())
	switch {
	case c.Replace && !known:
		return nil, noEventTrigger(c.Name)
	case c.Replace && old.Table != c.Table:
		return nil, refuse(domain.NotSupported, "cannot replace table or schema for trigger")
	}
	for _, spec := range c.Definition.specs() {
		if err := checkColumns(w, c.Table, spec.Columns.Names); err != nil {
			return nil, err
		}
	}
	if known && !c.Replace {
		return nil, refuse(domain.AlreadyExists, "event trigger %q already exists", c.Name)
	}
	return put(w.Catalog, c.EventTrigger), nil
}

// checkColumns refuses names that are no columns of a table that stands.
func checkColumns(w World, table domain.QualifiedName, names []string) error {
	shape := w.Shape.Table(table)
	for _, name := range names {
		if shape.Column(name) != nil {
			continue
		}
		for _, kind := range [...]Kind{KindRelationship, KindComputedField} {
			if w.Catalog.Has(keyOf(kind, table.Schema, table.Name, name)) {
				return refuse(domain.UnexpectedPayload, "expecting a postgres column; but, %q is a relationship; ", name)
			}
		}
		return refuse(domain.NotExists, "column %q does not exist", name)
	}
	return nil
}

// DeleteEventTrigger is delete_event_trigger. A trigger that is not there may
// be deleted: nothing happens.
type DeleteEventTrigger struct {
	Name string `json:"name"`
}

// Operation implements [Command].
func (DeleteEventTrigger) Operation() string { return "delete_event_trigger" }

func decodeDeleteEventTrigger(n wire.Node) Command { return DeleteEventTrigger{n.Field("name").Text()} }

func (DeleteEventTrigger) names(World) Names { return Names{} }

func (DeleteEventTrigger) demand() demand { return noneNew }

func (c DeleteEventTrigger) decide(w World) ([]Change, error) {
	return drop(w.Catalog, eventTriggerKey(c.Name)), nil
}

// EventTrigger returns an event trigger of the catalog, standing or not.
func (c Catalog) EventTrigger(name string) (EventTrigger, bool) {
	return lookup[EventTrigger](c, eventTriggerKey(name))
}

// EventTriggers yields all event triggers, standing or not, by name.
func (c Catalog) EventTriggers() iter.Seq[EventTrigger] {
	return objects[EventTrigger](c.OfKind(KindEventTrigger))
}
