package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"annals/domain"
	"annals/domain/database"
)

// A small world is tried at random: few names, so that commands meet, depend
// on each other and get in each other's way. Most commands name what is there;
// some name whatever comes to mind.
var (
	someTables    = rapid.SampledFrom([]string{"a", "b", "c", "d"})
	someFunctions = rapid.SampledFrom([]string{"f", "g", "a"})
	someColumns   = rapid.SampledFrom([]string{"id", "name", "a_id", "b_id", "x"})
	someTypes     = rapid.SampledFrom([]string{"int4", "int4", "text", "jsonb"})
	someFields    = rapid.SampledFrom([]string{"r", "s", "t", "x", "id"})
	someRoles     = rapid.SampledFrom([]string{"u", "v"})
)

// evenly draws one of n numbers. Generators love small numbers, and that would
// be always the same few commands; the turn spreads them.
func evenly(t *rapid.T, n, turn int, label string) int {
	spread := rapid.Uint32().Draw(t, label) + uint32(turn)*0x9E3779B9
	return int((spread * 0x85EBCA6B >> 8) % uint32(n))
}

// mostly draws from what is there, nine times in ten, else from the rest.
func mostly(t *rapid.T, there []string, rest *rapid.Generator[string], label string) string {
	if len(there) > 0 && rapid.IntRange(0, 9).Draw(t, "from "+label) > 0 {
		return rapid.SampledFrom(there).Draw(t, label)
	}
	return rest.Draw(t, label)
}

type fields = map[string]any

// named returns the names of a table's objects of a kind; of permissions, the
// roles.
func (s *story) named(kind Kind, table string) []string {
	var names []string
	for e := range s.world.Catalog.OfTable(kind, named(table)) {
		switch o := e.Object().(type) {
		case Relationship:
			names = append(names, o.Name)
		case ComputedField:
			names = append(names, o.Name)
		case Permission:
			names = append(names, o.Role)
		}
	}
	return names
}

// someOf is the table and name of an object of a kind.
func (s *story) someOf(t *rapid.T, kind Kind) (table, name string) {
	var there [][2]string
	for e := range s.world.Catalog.OfKind(kind) {
		table := e.Object().(owned).owner().Name
		for _, name := range s.named(kind, table) {
			there = append(there, [2]string{table, name})
		}
	}
	if len(there) == 0 {
		return s.someTable(t, "table"), someFields.Draw(t, "name")
	}
	chosen := there[evenly(t, len(there), s.turn, "object")]
	return chosen[0], chosen[1]
}

func (s *story) someTable(t *rapid.T, label string) string {
	var there []string
	for table := range objects[Table](s.world.Catalog.OfKind(KindTable)) {
		there = append(there, table.Name.Name)
	}
	if len(there) == 0 {
		return someTables.Draw(t, label)
	}
	return there[evenly(t, len(there), s.turn, label)]
}

func (s *story) someColumn(t *rapid.T, table, label string) string {
	return mostly(t, columnNames(s.world.Shape.Table(named(table))), someColumns, label)
}

func (s *story) someColumnList(t *rapid.T, table string) []string {
	columns := []string{}
	for range rapid.IntRange(0, 2).Draw(t, "columns") {
		columns = append(columns, s.someColumn(t, table, "column"))
	}
	return columns
}

// someFilter is an expression about a table's row, mostly right.
func (s *story) someFilter(t *rapid.T, table string, depth int) any {
	if depth == 0 {
		return fields{}
	}
	switch rapid.IntRange(0, 5).Draw(t, "filter") {
	case 0:
		return fields{"_or": []any{s.someFilter(t, table, depth-1), fields{"$not": s.someFilter(t, table, depth-1)}}}
	case 1:
		other := s.someTable(t, "exists")
		return fields{"_exists": fields{"_table": other, "_where": s.someFilter(t, other, depth-1)}}
	case 2, 3, 4:
		name := mostly(t, s.named(KindRelationship, table), someFields, "relationship")
		if r, ok := lookup[Relationship](s.world.Catalog, relationshipKey(named(table), name)); ok {
			to, _, _ := join(s.world.Shape, r)
			return fields{name: s.someFilter(t, to.Name, depth-1)}
		}
	}
	column := s.someColumn(t, table, "column")
	operands := []any{"X-Service-Id", "text", nil, fields{"_eq": "1"}, fields{"$in": []any{"t"}}, fields{"_ceq": column}, fields{"_is_null": true}, 1, fields{"_cast": fields{"text": "t"}}}
	return fields{column: rapid.SampledFrom(operands).Draw(t, "operand")}
}

func (s *story) someUsing(t *rapid.T, table, kind string) any {
	if rapid.IntRange(0, 2).Draw(t, "manual") == 0 {
		remote := s.someTable(t, "remote")
		mapping := fields{s.someColumn(t, table, "column"): s.someColumn(t, remote, "remote column")}
		return fields{"manual_configuration": fields{"remote_table": remote, "column_mapping": mapping}}
	}
	if kind == ObjectRelationship {
		return fields{"foreign_key_constraint_on": mostly(t, s.keyColumns(table, ""), someColumns, "key")}
	}
	remote := s.someTable(t, "remote")
	return fields{"foreign_key_constraint_on": fields{"table": remote, "column": mostly(t, s.keyColumns(remote, table), someColumns, "key")}}
}

// keyColumns are the columns of a table's foreign keys, to one table or any.
func (s *story) keyColumns(table, to string) []string {
	var columns []string
	if shape := s.world.Shape.Table(named(table)); shape != nil {
		for _, k := range shape.ForeignKeys {
			if to == "" || k.To == named(to) {
				columns = append(columns, k.Columns...)
			}
		}
	}
	return columns
}

func (s *story) someCustomization(t *rapid.T, table string) any {
	names := fields{}
	for _, c := range s.someColumnList(t, table) {
		names[c] = rapid.SampledFrom([]string{"x", "r", "y", "z", "id"}).Draw(t, "custom name")
	}
	return fields{"custom_column_names": names}
}

func (s *story) somePermission(t *rapid.T, table, action string) any {
	p := fields{"filter": s.someFilter(t, table, 3), "columns": "*"}
	if rapid.Bool().Draw(t, "list columns") {
		p["columns"] = s.someColumnList(t, table)
	}
	switch action {
	case MayInsert:
		p["check"] = s.someFilter(t, table, 2)
		p["set"] = fields{s.someColumn(t, table, "preset"): rapid.SampledFrom([]any{"X-Service-Id", "text"}).Draw(t, "value")}
	case MaySelect:
		if there := s.named(KindComputedField, table); len(there) > 0 {
			p["computed_fields"] = []string{mostly(t, there, someFields, "computed field")}
		}
	}
	return p
}

// someFunction is a function that fits, or any.
func (s *story) someFunction(t *rapid.T, fits func(*database.Function) bool) string {
	var there []string
	for _, name := range []string{"f", "g"} {
		if overloads := s.world.Shape.Functions(named(name)); len(overloads) == 1 && fits(overloads[0]) {
			there = append(there, name)
		}
	}
	return mostly(t, there, someFunctions, "function")
}

// someCommand is the body of a call.
func (s *story) someCommand(t *rapid.T) string {
	table, field, role := s.someTable(t, "table"), someFields.Draw(t, "field"), someRoles.Draw(t, "role")
	action := rapid.SampledFrom([]string{MayInsert, MaySelect, MayUpdate, MayDelete}).Draw(t, "action")
	kind := rapid.SampledFrom([]string{ObjectRelationship, ArrayRelationship}).Draw(t, "kind")
	cascade := rapid.Bool().Draw(t, "cascade")
	var name string
	version, args := 1, any(nil)
	switch evenly(t, 23, s.turn, "command") {
	case 0, 1:
		name, args = "track_table", rapid.SampledFrom([]string{"d", "c", "b", "a"}).Draw(t, "table to track")
	case 2:
		name, args = "untrack_table", fields{"table": table, "cascade": cascade}
	case 3, 4:
		name, args = "set_table_customization", fields{"table": table, "configuration": s.someCustomization(t, table)}
	case 5, 6, 7, 8, 9:
		name, args = "create_"+kind+"_relationship", fields{"table": table, "name": field, "using": s.someUsing(t, table, kind)}
	case 10:
		table, relationship := s.someOf(t, KindRelationship)
		name, args = "drop_relationship", fields{"table": table, "relationship": relationship, "cascade": cascade}
	case 11:
		table, relationship := s.someOf(t, KindRelationship)
		name, args = "rename_relationship", fields{"table": table, "name": relationship, "new_name": field}
	case 12, 13, 14, 15, 16:
		if action == MaySelect && cascade {
			table, _ = s.someOf(t, KindComputedField)
		}
		name, args = "create_"+action+"_permission", fields{"table": table, "role": role, "permission": s.somePermission(t, table, action)}
	case 17:
		table, role := s.someOf(t, KindPermission)
		name, args = "drop_"+action+"_permission", fields{"table": table, "role": role}
	case 18:
		function := s.someFunction(t, func(f *database.Function) bool { return f.ReturnsTable != nil && len(f.Arguments) == 1 })
		exposed := rapid.SampledFrom([]string{"query", "mutation"}).Draw(t, "exposed as")
		name, args, version = "track_function", fields{"function": function, "configuration": fields{"exposed_as": exposed}}, 2
	case 19:
		name, args = "untrack_function", someFunctions.Draw(t, "function")
	case 20, 21:
		function := s.someFunction(t, func(f *database.Function) bool {
			return f.Arguments[0].Row != nil && *f.Arguments[0].Row == named(table)
		})
		name, args = "add_computed_field", fields{"table": table, "name": field, "definition": fields{"function": function}}
	default:
		table, computed := s.someOf(t, KindComputedField)
		name, args = "drop_computed_field", fields{"table": table, "name": computed, "cascade": cascade}
	}
	return string(Encode(fields{"type": name, "version": version, "args": args}))
}

// story is a world, the database beside it, and the log of what happened.
type story struct {
	world    World
	model    *model
	turn     int
	log      []json.RawMessage
	catalogs []Catalog
}

func (s *story) position() int64 { return int64(len(s.log)) + 1 }

// take records a decision; a refusal leaves the world as it was.
func (s *story) take(t *rapid.T, what string, d Decision, err error) {
	if err != nil {
		var refusal *domain.Error
		if !errors.As(err, &refusal) {
			t.Fatalf("%s: failed without a refusal: %v", what, err)
		}
		return
	}
	s.log = append(s.log, EncodeChanges(d.Changes))
	s.world = d.World
	s.catalogs = append(s.catalogs, d.World.Catalog)
}

func (s *story) step(t *rapid.T) string {
	s.turn++
	switch evenly(t, 20, s.turn, "step") {
	case 0:
		s.model.alter(t)
		s.world = s.world.WithShape(s.model.reading())
		return "the database changed unseen"
	case 1, 2:
		for range rapid.IntRange(1, 3).Draw(t, "statements") {
			s.model.alter(t)
		}
		cascade := rapid.Bool().Draw(t, "cascade")
		d, err := Follow(s.world, s.position(), s.model.sight(s.world.Watch()), cascade)
		s.take(t, "SQL", d, err)
		if err != nil { // the statement is rolled back, but somebody does it by hand
			s.world = s.world.WithShape(s.model.reading())
		}
		return fmt.Sprintf("SQL, %v", err)
	}
	body := s.someCommand(t)
	req, err := Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	d, err := Decide(s.world, s.position(), req.Command.(Decider))
	s.take(t, body, d, err)
	return fmt.Sprintf("%s, %v", body, err)
}

func tell(t *rapid.T) *story {
	m := newModel(t)
	s := &story{model: m, world: NewWorld(Catalog{}, database.Shape{}.With(m.reading()), nil), catalogs: []Catalog{{}}}
	for _, table := range []string{"a", "b", "c"} {
		d, err := Decide(s.world, s.position(), TrackTable{Table{Name: named(table)}})
		s.take(t, table, d, err)
	}
	for range 2 * rapid.IntRange(1, 30).Draw(t, "steps") {
		before := s.world
		what := s.step(t)
		s.sameStanding(t, what)
		s.sameVersions(t, before, what)
	}
	return s
}

// sameStanding claims that what was resolved step by step is what a look at
// everything finds.
func (s *story) sameStanding(t *rapid.T, after string) {
	whole := NewWorld(s.world.Catalog, s.world.Shape, nil)
	if diff := cmp.Diff(standingText(whole), standingText(s.world)); diff != "" {
		t.Fatalf("after %s: resolved whole (-) and step by step (+):\n%s", after, diff)
	}
}

// sameVersions claims that a table whose version stayed is as it was, with all
// that belongs to it.
func (s *story) sameVersions(t *rapid.T, before World, after string) {
	if before.Standing.Moment() == s.world.Standing.Moment() {
		return
	}
	for _, table := range []string{"a", "b", "c"} {
		name := named(table)
		if before.Standing.VersionOfTable(name) != s.world.Standing.VersionOfTable(name) {
			continue
		}
		if diff := cmp.Diff(tableText(before, name), tableText(s.world, name)); diff != "" {
			t.Fatalf("after %s: %s has the same version, but was (-) and is (+):\n%s", after, table, diff)
		}
	}
}

func tableText(w World, name domain.QualifiedName) []string {
	lines := []string{fmt.Sprintf("%+v", w.Shape.Table(name))}
	add := func(e *Entry) {
		lines = append(lines, fmt.Sprintf("%s %s %t", e.Key, e.Definition, w.Standing.Stands(e.Key)))
	}
	if e := w.Catalog.Get(tableKey(name)); e != nil {
		add(e)
	}
	for _, kind := range []Kind{KindRelationship, KindComputedField, KindRemoteRelationship, KindPermission} {
		for e := range w.Catalog.OfTable(kind, name) {
			add(e)
		}
	}
	return lines
}

func standingText(w World) []string {
	var lines []string
	for name, fields := range w.Roots.Queries() {
		lines = append(lines, fmt.Sprintf("query %s: %v", name, fields))
	}
	for name, fields := range w.Roots.Mutations() {
		lines = append(lines, fmt.Sprintf("mutation %s: %v", name, fields))
	}
	for _, name := range slices.Sorted(maps.Keys(w.scalars)) {
		lines = append(lines, fmt.Sprintf("scalar %s: %d", name, w.scalars[name]))
	}
	index := w.Standing.index
	index.stands.Scan(func(key string, st *stand) bool {
		lines = append(lines, fmt.Sprintf("%s needs %q: %s", key, st.needs, st.reason))
		return true
	})
	index.needed.Scan(func(key string, by Key) bool {
		lines = append(lines, fmt.Sprintf("%q by %s", key, by))
		return true
	})
	index.fallen.Scan(func(key string, _ *stand) bool {
		lines = append(lines, "fallen "+key)
		return true
	})
	return lines
}

// rounds times rapid's hundred stories are told by each property.
const rounds = 4

func tellMany(t *testing.T, property func(t *rapid.T, s *story)) {
	t.Parallel()
	for range rounds {
		rapid.Check(t, func(t *rapid.T) { property(t, tell(t)) })
	}
}

func TestStandingKeptStepByStepIsStandingFoundWhole(t *testing.T) {
	tellMany(t, func(*rapid.T, *story) {}) // claimed after each step
}

func TestTheLogFoldedFromZeroIsTheCatalog(t *testing.T) {
	tellMany(t, func(t *rapid.T, s *story) {
		fold := FoldFrom(Catalog{})
		for i, changes := range s.log {
			if err := fold.Event(int64(i+1), SchemaVersion, changes); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(catalogText(s.world.Catalog), catalogText(fold.Catalog())); diff != "" {
			t.Fatalf("live (-) and folded (+):\n%s", diff)
		}
	})
}

func catalogText(c Catalog) []string {
	var lines []string
	for e := range c.All() {
		lines = append(lines, fmt.Sprintf("%s at %d: %s", e.Key, e.Position, e.Definition))
	}
	return lines
}

func TestEachChangeSaysWhatWasBefore(t *testing.T) {
	tellMany(t, func(t *rapid.T, s *story) {
		for i, raw := range s.log {
			changes, err := DecodeChanges(raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				var before []byte
				if e := s.catalogs[i].Get(c.Key()); e != nil {
					before = e.Definition
				}
				if !bytes.Equal(before, c.Before) {
					t.Fatalf("%s of %s says %s, but it was %s", c.Type, c.Name, c.Before, before)
				}
			}
		}
	})
}

func TestADifferenceLeadsFromOneCatalogToTheOther(t *testing.T) {
	tellMany(t, func(t *rapid.T, s *story) {
		from, to := rapid.SampledFrom(s.catalogs).Draw(t, "from"), rapid.SampledFrom(s.catalogs).Draw(t, "to")
		reached := from.Evolve(99, Difference(from, to))
		if d := Difference(reached, to); len(d) != 0 {
			t.Fatalf("still to go: %s", EncodeChanges(d))
		}
	})
}

func TestADocumentExportedAndReplacedIsTheSame(t *testing.T) {
	tellMany(t, func(t *rapid.T, s *story) {
		req, err := Parse(fmt.Appendf(nil, `{"type":"replace_metadata","args":%s}`, Export(s.world.Catalog)))
		if err != nil {
			t.Fatal(err)
		}
		changes, err := req.Command.(Decider).decide(s.world)
		if err != nil || len(changes) != 0 {
			t.Fatalf("changes %s, %v", EncodeChanges(changes), err)
		}
	})
}
