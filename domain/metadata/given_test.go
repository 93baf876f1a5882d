package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"annals/domain"
	"annals/domain/database"
)

// scenario is a world in which a command can be tried:
//
//	given(t, shapeOf(tableOf("author", "id int4 pk", "name text")), Table{Name: named("author")}).
//		when(`{"type":"untrack_table","args":{"table":"author"}}`).
//		changes("table_untracked public.author")
type scenario struct {
	t        testing.TB
	world    World
	position int64
}

// given makes a world of a shape and the objects of a catalog.
func given(t testing.TB, shape database.Shape, objects ...Object) scenario {
	t.Helper()
	return givenEnvironment(t, Environment{}, shape, objects...)
}

// givenEnvironment is given with environment variables.
func givenEnvironment(t testing.TB, env Environment, shape database.Shape, objects ...Object) scenario {
	t.Helper()
	return scenario{t, NewWorld(catalogWith(objects...), shape, env), int64(len(objects))}
}

// catalogWith puts objects into a catalog, at positions 1, 2, 3 ...
func catalogWith(objects ...Object) Catalog {
	var c Catalog
	for i, o := range objects {
		c = c.Evolve(int64(i+1), put(c, o))
	}
	return c
}

// outcome is what became of a command.
type outcome struct {
	t        testing.TB
	before   scenario
	decision Decision
	err      error
}

// when parses the body of a call and decides on it.
func (s scenario) when(body string) outcome {
	s.t.Helper()
	req, err := Parse([]byte(body))
	if err != nil {
		return outcome{s.t, s, Decision{}, err}
	}
	d, ok := req.Command.(Decider)
	if !ok {
		s.t.Fatalf("%s decides nothing: %T", body, req.Command)
	}
	if again := Encode(req.Command); !json.Valid(again) {
		s.t.Fatalf("%s is kept as %s", body, again)
	}
	decision, err := Decide(s.world, s.position+1, d)
	return outcome{s.t, s, decision, err}
}

// changes claims that the command was accepted and made these changes, each
// written as its type and the object's key: "table_tracked public.author".
func (o outcome) changes(want ...string) outcome {
	o.t.Helper()
	o.accepted()
	got := []string{}
	for _, c := range o.decision.Changes {
		got = append(got, c.Type+" "+c.Name)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		o.t.Fatalf("changes, wanted (-) and got (+):\n%s", diff)
	}
	return o
}

// accepted claims that the command was not refused, and that the world after
// it is the one that its changes, recorded and read again, lead to.
func (o outcome) accepted() outcome {
	o.t.Helper()
	if o.err != nil {
		o.t.Fatalf("refused: %v %s", o.err, internalOf(o.err))
	}
	fold := FoldFrom(o.before.world.Catalog)
	if err := fold.Event(o.before.position+1, SchemaVersion, EncodeChanges(o.decision.Changes)); err != nil {
		o.t.Fatal(err)
	}
	if d := Difference(fold.Catalog(), o.decision.World.Catalog); len(d) != 0 {
		o.t.Fatalf("the recorded changes lead elsewhere: %s", EncodeChanges(d))
	}
	return o
}

// refuses claims that the command was refused so.
func (o outcome) refuses(code domain.Code, path, message string) outcome {
	o.t.Helper()
	if o.err == nil {
		o.t.Fatalf("not refused; it changed %s", EncodeChanges(o.decision.Changes))
	}
	var e *domain.Error
	if !errors.As(o.err, &e) {
		o.t.Fatalf("failed without a refusal: %v", o.err)
	}
	want := []string{string(code), path, message}
	if diff := cmp.Diff(want, []string{string(e.Code), e.Path, e.Message}); diff != "" {
		o.t.Fatalf("refusal, wanted (-) and got (+):\n%s", diff)
	}
	return o
}

// internal claims the details of a refusal, as JSON.
func (o outcome) internal(want string) outcome {
	o.t.Helper()
	sameJSON(o.t, want, internalOf(o.err))
	return o
}

// fault claims that the refusal counts as the server's own.
func (o outcome) fault() outcome {
	o.t.Helper()
	var e *domain.Error
	if !errors.As(o.err, &e) || !e.Fault {
		o.t.Fatalf("not a fault: %v", o.err)
	}
	return o
}

// holds claims the definition that an object has after the command.
func (o outcome) holds(key Key, definition string) outcome {
	o.t.Helper()
	e := o.decision.World.Catalog.Get(key)
	if e == nil {
		o.t.Fatalf("there is no %s", key)
	}
	sameJSON(o.t, definition, e.Definition)
	return o
}

// then goes on in the world after the command.
func (o outcome) then() scenario {
	o.t.Helper()
	o.accepted()
	return scenario{o.t, o.decision.World, o.before.position + 1}
}

func internalOf(err error) []byte {
	var e *domain.Error
	if errors.As(err, &e) {
		return e.Internal
	}
	return nil
}

func sameJSON(t testing.TB, want string, got []byte) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("the test's own JSON: %v in %s", err, want)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("got no JSON: %v in %s", err, got)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Fatalf("JSON, wanted (-) and got (+):\n%s", diff)
	}
}

// named reads a name as tests write it: author, or auth.users.
func named(text string) domain.QualifiedName {
	if schema, name, ok := strings.Cut(text, "."); ok {
		return domain.QualifiedName{Schema: schema, Name: name}
	}
	return domain.QualifiedName{Schema: domain.PublicSchema, Name: text}
}

// tracked returns tracked tables.
func tracked(tables ...string) []Object {
	var objects []Object
	for _, t := range tables {
		objects = append(objects, Table{Name: named(t)})
	}
	return objects
}

// foundOf is a reading of tables and functions; foreign keys between the
// tables are seen from both sides, and each thing has an OID.
func foundOf(things ...any) database.Found {
	found := database.Found{
		Tables:    map[domain.QualifiedName]*database.Table{},
		Functions: map[domain.QualifiedName][]*database.Function{},
		Types:     map[string]struct{}{},
	}
	for _, name := range []string{"int4", "int8", "text", "bool", "uuid", "jsonb", "timestamptz", "numeric", "date"} {
		found.Types[name] = struct{}{}
	}
	for i, thing := range things {
		switch thing := thing.(type) {
		case *database.Table:
			if thing.OID == 0 {
				thing.OID = uint32(1000 + i)
			}
			found.Tables[thing.Name] = thing
		case *database.Function:
			if thing.OID == 0 {
				thing.OID = uint32(1000 + i)
			}
			found.Functions[thing.Name] = append(found.Functions[thing.Name], thing)
		default:
			panic(fmt.Sprintf("a shape has no %T", thing))
		}
	}
	referBack(found.Tables)
	return found
}

// referBack fills in the referrers of each table anew.
func referBack(tables map[domain.QualifiedName]*database.Table) {
	for _, t := range tables {
		t.Referrers = nil
	}
	for _, t := range tables {
		for _, key := range t.ForeignKeys {
			if to := tables[key.To]; to != nil {
				to.Referrers = append(to.Referrers, database.Referrer{From: t.Name, Key: key})
			}
		}
	}
	for _, t := range tables {
		slices.SortFunc(t.Referrers, func(a, b database.Referrer) int {
			return strings.Compare(a.From.Key()+a.Key.Name, b.From.Key()+b.Key.Name)
		})
	}
}

// shapeOf is the shape that a reading gives.
func shapeOf(things ...any) database.Shape { return database.Shape{}.With(foundOf(things...)) }

// columnText is how a test writes a column: "author_id int4 null references author(id)".
var columnText = regexp.MustCompile(`^(\S+) ([a-z0-9]+)(\[\])?((?: pk| null| unique| default| generated)*)(?: references (\S+)\((\S+)\))?$`)

// sqlTypes are the types whose names format_type prints otherwise.
var sqlTypes = map[string]string{
	"int4": "integer", "int8": "bigint", "bool": "boolean", "timestamptz": "timestamp with time zone", "varchar": "character varying",
}

// tableOf is a table with its columns, each written as its name, its type as
// typname has it, and any of: pk, null, unique, default, generated,
// references table(column).
func tableOf(name string, columns ...string) *database.Table {
	t := &database.Table{
		Name: named(name), Kind: database.OrdinaryTable, Columns: []database.Column{},
		Insertable: true, Updatable: true, Deletable: true,
	}
	for i, text := range columns {
		addColumn(t, i+1, text)
	}
	return t
}

func addColumn(t *database.Table, number int, text string) {
	m := columnText.FindStringSubmatch(text)
	if m == nil {
		panic("not a column: " + text)
	}
	flag := func(word string) bool { return slices.Contains(strings.Fields(m[4]), word) }
	c := database.Column{
		Name: m[1], Number: int16(number), Type: m[2], Array: m[3] != "", SQLType: m[2] + m[3], TypeKind: 'b',
		Nullable: flag("null"), HasDefault: flag("default"), Generated: flag("generated"),
	}
	if long, ok := sqlTypes[m[2]]; ok {
		c.SQLType = long + m[3]
	}
	t.Columns = append(t.Columns, c)
	if flag("pk") {
		if t.PrimaryKey == nil {
			t.PrimaryKey = &database.Constraint{Name: t.Name.Name + "_pkey"}
		}
		t.PrimaryKey.Columns = append(t.PrimaryKey.Columns, c.Name)
	}
	if flag("unique") {
		t.UniqueKeys = append(t.UniqueKeys, database.Constraint{Name: t.Name.Name + "_" + c.Name + "_key", Columns: []string{c.Name}})
	}
	if m[5] != "" {
		t.ForeignKeys = append(t.ForeignKeys, database.ForeignKey{
			Name: t.Name.Name + "_" + c.Name + "_fkey", Columns: []string{c.Name}, To: named(m[5]), RefColumns: []string{m[6]},
		})
	}
}

// enumOf is a table whose rows were read as the values of an enum.
func enumOf(name string, values ...string) *database.Table {
	t := tableOf(name, "value text pk", "comment text null")
	t.EnumRead = true
	for _, v := range values {
		t.Enum = append(t.Enum, database.EnumValue{Value: v})
	}
	return t
}

// authors is the database most tests begin with: two tables and a foreign key.
func authors() []any {
	return []any{
		tableOf("author", "id int4 pk default", "name text", "age int4 null", "data jsonb null"),
		tableOf("article", "id int4 pk default", "title text", "author_id int4 null references author(id)", "published bool"),
	}
}
