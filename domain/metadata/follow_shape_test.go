package metadata

import (
	"encoding/json"
	"slices"
	"testing"

	"annals/domain"
	"annals/domain/database"
)

// alteration is what SQL did to the database of a scenario.
type alteration struct {
	sight   Sight
	tables  map[string]*database.Table
	dropped map[uint32]bool
}

// afterSQL copies the scenario's database and lets a test change the copy.
func (s scenario) afterSQL(cascade bool, change func(a *alteration)) outcome {
	s.t.Helper()
	a := &alteration{tables: map[string]*database.Table{}, dropped: map[uint32]bool{}}
	a.sight = Sight{Tables: map[uint32]*database.Table{}, Found: database.Found{
		Tables: map[domain.QualifiedName]*database.Table{}, Functions: map[domain.QualifiedName][]*database.Function{},
	}}
	watch := s.world.Watch()
	for t := range objects[Table](s.world.Catalog.OfKind(KindTable)) {
		if shape := s.world.Shape.Table(t.Name); shape != nil {
			a.tables[t.Name.String()] = cloneTable(shape)
		}
	}
	for _, name := range watch.Names.Functions {
		a.sight.Found.Functions[name] = s.world.Shape.Functions(name)
	}
	change(a)
	for oid := range watch.OIDs {
		a.sight.Tables[oid] = nil
	}
	all := map[domain.QualifiedName]*database.Table{}
	for _, t := range a.tables {
		if _, watched := watch.OIDs[t.OID]; watched && !a.dropped[t.OID] {
			a.sight.Tables[t.OID], all[t.Name] = t, t
		}
	}
	referBack(all)
	decision, err := Follow(s.world, s.position+1, a.sight, cascade)
	return outcome{s.t, s, decision, err}
}

func cloneTable(t *database.Table) *database.Table {
	c := *t
	c.Columns = slices.Clone(t.Columns)
	c.ForeignKeys = slices.Clone(t.ForeignKeys)
	c.UniqueKeys = slices.Clone(t.UniqueKeys)
	return &c
}

func (a *alteration) renameTable(from, to string) {
	t := a.tables[from]
	t.Name = named(to)
	for _, other := range a.tables {
		for i := range other.ForeignKeys {
			if other.ForeignKeys[i].To == named(from) {
				other.ForeignKeys[i].To = named(to)
			}
		}
	}
}

func (a *alteration) renameColumn(table, from, to string) {
	r := Rename{Table: a.tables[table].Name, Column: from, NewColumn: to}
	for name, t := range a.tables {
		a.tables[name] = r.shape(t)
	}
}

// dropTable drops a table, and the foreign keys that point to it.
func (a *alteration) dropTable(table string) {
	dropped := a.tables[table]
	a.dropped[dropped.OID] = true
	for _, t := range a.tables {
		t.ForeignKeys = slices.DeleteFunc(t.ForeignKeys, func(k database.ForeignKey) bool { return k.To == dropped.Name })
	}
}

// dropColumn drops a column, and the foreign keys that have it.
func (a *alteration) dropColumn(table, column string) {
	t := a.tables[table]
	t.Columns = slices.DeleteFunc(t.Columns, func(c database.Column) bool { return c.Name == column })
	for _, other := range a.tables {
		other.ForeignKeys = slices.DeleteFunc(other.ForeignKeys, func(k database.ForeignKey) bool {
			return other == t && slices.Contains(k.Columns, column) || k.To == t.Name && slices.Contains(k.RefColumns, column)
		})
	}
}

func (a *alteration) retype(table, column, typ string) {
	a.tables[table].Column(column).Type = typ
}

// press is a catalog with something of everything on two tables.
func press(t *testing.T) scenario {
	permission := reads("article", "user", `{"author":{"id":"X-Service-User-Id","name":{"_ne":"x"}},"_exists":{"_table":"author","_where":{"age":{"_gt":7}}}}`, "id", "title")
	insert := Permission{Table: named("article"), Role: "user", Action: MayInsert, Definition: PermissionDefinition{
		Check: json.RawMessage(`{"title":{"_ceq":"title"}}`), Set: map[string]json.RawMessage{"author_id": json.RawMessage(`"x-service-user-id"`)},
	}}
	author := Table{Name: named("author"), Configuration: TableConfiguration{ColumnNames: map[string]string{"id": "AuthorId", "age": "Age"}}}
	shape := shapeOf(append(authors(), rowFunction("shout", "author"), stableFunction("search", "author"))...)
	s := given(t, shape, author, Table{Name: named("article")},
		objectKey("article", "author", "author_id"), arrayKey("author", "articles", "article", "author_id"),
		manual("article", "namesakes", "author", "title", "name"),
		permission, insert, reads("author", "user", `{"articles":{"published":true}}`, "id"),
		computed("author", "loud", "shout"), Function{Name: named("search")})
	if n := s.world.Standing.Inconsistent(); n != 0 {
		t.Fatalf("begins with faults: %s", encode(s.world.Inconsistencies()))
	}
	return s
}

func TestSQLThatChangesNothingChangesNothing(t *testing.T) {
	press(t).afterSQL(false, func(*alteration) {}).changes()
}

func TestARenamedTableIsFollowedEverywhere(t *testing.T) {
	o := press(t).afterSQL(false, func(a *alteration) { a.renameTable("author", "writer"); a.renameFunctionRows("author", "writer") }).accepted()
	o.holds(tableKey(named("writer")), `{"table":{"schema":"public","name":"writer"},"configuration":{"custom_root_fields":{},"custom_column_names":{"id":"AuthorId","age":"Age"}}}`)
	o.holds(relationshipKey(named("writer"), "articles"), string(encode(arrayKey("writer", "articles", "article", "author_id"))))
	o.holds(relationshipKey(named("article"), "namesakes"), string(encode(manual("article", "namesakes", "writer", "title", "name"))))
	o.holds(permissionKey(named("article"), "user", MaySelect), string(encode(reads("article", "user",
		`{"author":{"id":"X-Service-User-Id","name":{"_ne":"x"}},"_exists":{"_table":{"schema":"public","name":"writer"},"_where":{"age":{"_gt":7}}}}`, "id", "title"))))
	o.holds(computedFieldKey(named("writer"), "loud"), string(encode(computed("writer", "loud", "shout"))))
	if w := o.decision.World; w.Standing.Inconsistent() != 0 || w.Catalog.Has(tableKey(named("author"))) {
		t.Fatalf("left behind: %s", encode(w.Inconsistencies()))
	}
}

// renameFunctionRows is what a renamed table does to functions that take or
// return its rows.
func (a *alteration) renameFunctionRows(from, to string) {
	r := Rename{Table: named(from), NewTable: named(to)}
	for name, overloads := range a.sight.Found.Functions {
		a.sight.Found.Functions[name] = r.functions(overloads)
	}
}

func TestARenamedColumnIsFollowedEverywhere(t *testing.T) {
	o := press(t).afterSQL(false, func(a *alteration) {
		a.renameColumn("author", "id", "author_id")
		a.renameColumn("author", "age", "years")
		a.renameColumn("author", "name", "called")
		a.renameColumn("article", "title", "heading")
		a.renameColumn("article", "author_id", "writer_id")
	}).accepted()
	o.holds(tableKey(named("author")), `{"table":{"schema":"public","name":"author"},"configuration":{"custom_root_fields":{},"custom_column_names":{"author_id":"AuthorId","years":"Age"}}}`)
	o.holds(relationshipKey(named("article"), "author"), string(encode(objectKey("article", "author", "writer_id"))))
	o.holds(relationshipKey(named("author"), "articles"), string(encode(arrayKey("author", "articles", "article", "writer_id"))))
	o.holds(relationshipKey(named("article"), "namesakes"), string(encode(manual("article", "namesakes", "author", "heading", "called"))))
	o.holds(permissionKey(named("article"), "user", MaySelect), string(encode(reads("article", "user",
		`{"author":{"author_id":"X-Service-User-Id","called":{"_ne":"x"}},"_exists":{"_table":"author","_where":{"years":{"_gt":7}}}}`, "id", "heading"))))
	o.holds(permissionKey(named("article"), "user", MayInsert), `{"table":{"schema":"public","name":"article"},"role":"user","action":"insert",
		"permission":{"check":{"heading":{"_ceq":"heading"}},"set":{"writer_id":"x-service-user-id"}}}`)
	if w := o.decision.World; w.Standing.Inconsistent() != 0 {
		t.Fatalf("fallen: %s", encode(w.Inconsistencies()))
	}
}

func TestARenamedTableAndColumnAreFollowedTogether(t *testing.T) {
	o := press(t).afterSQL(false, func(a *alteration) {
		a.renameColumn("article", "author_id", "writer_id")
		a.renameTable("article", "articles")
	}).accepted()
	o.holds(relationshipKey(named("articles"), "author"), string(encode(objectKey("articles", "author", "writer_id"))))
	o.holds(relationshipKey(named("author"), "articles"), string(encode(arrayKey("author", "articles", "articles", "writer_id"))))
}

func TestExchangedNamesStayApart(t *testing.T) {
	o := press(t).afterSQL(false, func(a *alteration) {
		a.renameColumn("article", "title", "x")
		a.renameColumn("article", "id", "title")
		a.renameColumn("article", "x", "id")
	}).accepted()
	o.holds(permissionKey(named("article"), "user", MaySelect), string(encode(reads("article", "user",
		`{"author":{"id":"X-Service-User-Id","name":{"_ne":"x"}},"_exists":{"_table":"author","_where":{"age":{"_gt":7}}}}`, "title", "id"))))

	tables := given(t, shapeOf(tableOf("a", "id int4 pk", "b_id int4 references b(id)"), tableOf("b", "id int4 pk", "note text")),
		append(tracked("a", "b"), objectKey("a", "b", "b_id"), reads("b", "user", `{"_exists":{"_table":"a","_where":{"b":{"note":"x"}}}}`, "note"))...)
	o = tables.afterSQL(false, func(a *alteration) {
		a.renameTable("a", "x")
		a.renameTable("b", "a")
		a.tables["a"].Name = named("b")
	}).accepted()
	o.holds(relationshipKey(named("b"), "b"), string(encode(objectKey("b", "b", "b_id"))))
	o.holds(permissionKey(named("a"), "user", MaySelect), string(encode(
		reads("a", "user", `{"_exists":{"_table":{"schema":"public","name":"b"},"_where":{"b":{"note":"x"}}}}`, "note"))))
	if w := o.decision.World; w.Standing.Inconsistent() != 0 {
		t.Fatalf("fallen: %s", encode(w.Inconsistencies()))
	}
}

func TestADroppedTableIsInTheWayOfOthers(t *testing.T) {
	drop := func(a *alteration) { a.dropTable("author") }
	press(t).afterSQL(false, drop).refuses(domain.DependencyError, "$.args",
		"cannot drop due to the following dependent objects : function search, permission article.user.select, relationship article.author, relationship article.namesakes")
	press(t).afterSQL(true, drop).changes(
		"computed_field_dropped public.author.loud", "function_untracked public.search",
		"permission_dropped public.article.user.select", "permission_dropped public.author.user.select",
		"relationship_dropped public.article.author", "relationship_dropped public.article.namesakes", "relationship_dropped public.author.articles",
		"table_untracked public.author")
}

func TestADroppedTableOfNoConcernToOthersGoesSilently(t *testing.T) {
	s := given(t, shapeOf(append(authors(), tableOf("log", "id int4 pk"))...), append(tracked("author", "log"), readAll("log", "user"))...)
	s.afterSQL(false, func(a *alteration) { a.dropTable("log") }).
		changes("permission_dropped public.log.user.select", "table_untracked public.log")
}

func TestADroppedColumnIsInTheWayOfWhatNeedsIt(t *testing.T) {
	drop := func(a *alteration) { a.dropColumn("author", "name") }
	press(t).afterSQL(false, drop).refuses(domain.DependencyError, "$.args",
		"cannot drop due to the following dependent objects : permission article.user.select, relationship article.namesakes")
	press(t).afterSQL(true, drop).changes("permission_dropped public.article.user.select", "relationship_dropped public.article.namesakes")
}

func TestADroppedForeignKeyIsInTheWayOfRelationships(t *testing.T) {
	drop := func(a *alteration) { a.tables["article"].ForeignKeys = nil }
	press(t).afterSQL(false, drop).refuses(domain.DependencyError, "$.args",
		"cannot drop due to the following dependent objects : permission article.user.select, permission author.user.select, relationship article.author, relationship author.articles")
	press(t).afterSQL(true, drop).changes("permission_dropped public.article.user.select", "permission_dropped public.author.user.select",
		"relationship_dropped public.article.author", "relationship_dropped public.author.articles")
}

func TestAForeignKeyMadeAnewIsNotMissed(t *testing.T) {
	press(t).afterSQL(false, func(a *alteration) { a.tables["article"].ForeignKeys[0].Name = "another" }).changes()
}

func TestTheCustomNameOfADroppedColumnIsForgotten(t *testing.T) {
	author := Table{Name: named("author"), Configuration: TableConfiguration{
		RootFields: RootFields{Select: "Authors"}, ColumnNames: map[string]string{"id": "AuthorId", "name": "AuthorName"},
	}}
	given(t, shapeOf(authors()...), author).afterSQL(false, func(a *alteration) {
		a.dropColumn("author", "name")
		a.renameColumn("author", "id", "author_id")
	}).changes("table_changed public.author").
		holds(author.Key(), `{"table":{"schema":"public","name":"author"},"configuration":{"custom_root_fields":{"select":"Authors"},"custom_column_names":{"author_id":"AuthorId"}}}`)
}

func TestAPermissionForAllColumnsWarnsOfADroppedOneAndStays(t *testing.T) {
	s := given(t, shapeOf(authors()...), append(tracked("author"), readAll("author", "user"))...)
	drop := func(a *alteration) { a.dropColumn("author", "age") }
	s.afterSQL(false, drop).refuses(domain.DependencyError, "$.args",
		"cannot drop due to the following dependent objects : permission author.user.select")
	s.afterSQL(true, drop).changes()
}

func TestATypeMayNotChangeUnderALiteral(t *testing.T) {
	insert := Permission{Table: named("article"), Role: "user", Action: MayInsert, Definition: PermissionDefinition{
		Check: json.RawMessage(`{"id":"X-Service-User-Id"}`), Set: map[string]json.RawMessage{"published": json.RawMessage(`true`)},
	}}
	s := given(t, shapeOf(authors()...), append(tracked("article"), insert,
		reads("article", "user", `{"id":"X-Service-User-Id","published":true}`, "id"))...)
	for _, cascade := range []bool{false, true} {
		s.afterSQL(cascade, func(a *alteration) { a.retype("article", "published", "text") }).refuses(domain.DependencyError, "$.args",
			`cannot change type of column "published" in table "article" because of the following dependencies : permission article.user.insert, permission article.user.select`)
	}
	s.afterSQL(false, func(a *alteration) { a.retype("article", "id", "text") }).changes()
}

func TestFunctionsAreFollowed(t *testing.T) {
	second := rowFunction("shout", "article")
	for name, c := range map[string]struct {
		change  func(*alteration)
		message string
	}{
		"a tracked function that was overloaded": {func(a *alteration) {
			a.sight.Found.Functions[named("search")] = append(a.sight.Found.Functions[named("search")], second)
		}, `the following tracked function(s) cannot be overloaded: search`},
		"a computed field's function that was overloaded": {func(a *alteration) {
			a.sight.Found.Functions[named("shout")] = append(a.sight.Found.Functions[named("shout")], second)
		}, `The function "shout" associated with computed field "loud" of table "author" is being overloaded`},
		"a tracked function that became volatile": {func(a *alteration) { a.volatile("search") },
			`type of function "search" is altered to "VOLATILE" which is not supported now`},
		"a computed field's function that became volatile": {func(a *alteration) { a.volatile("shout") },
			`The type of function "shout" associated with computed field "loud" of table "author" is being altered to "VOLATILE"`},
	} {
		t.Run(name, func(t *testing.T) {
			press(t).afterSQL(true, c.change).refuses(domain.NotSupported, "$.args", c.message)
		})
	}
	press(t).afterSQL(false, func(a *alteration) {
		a.sight.Found.Functions[named("search")], a.sight.Found.Functions[named("shout")] = nil, nil
	}).changes("computed_field_dropped public.author.loud", "function_untracked public.search")
}

func (a *alteration) volatile(function string) {
	f := *a.sight.Found.Functions[named(function)][0]
	f.Volatility = database.Volatile
	a.sight.Found.Functions[named(function)] = []*database.Function{&f}
}

func TestAColumnMayNotTakeTheNameOfAField(t *testing.T) {
	press(t).afterSQL(true, func(a *alteration) { addColumn(a.tables["article"], 9, "author text") }).refuses(domain.AlreadyExists, "$.args",
		`cannot add column "author" in table "article" as a relationship with the name already exists`)
	press(t).afterSQL(true, func(a *alteration) { a.renameColumn("author", "name", "loud") }).refuses(domain.AlreadyExists, "$.args",
		`cannot rename column "name" to "loud" in table "author" as a computed field with the name already exists`)
}

func TestATableMayNotTakeTheNameOfAnotherThatIsTracked(t *testing.T) {
	s := given(t, shapeOf(authors()...), tracked("author", "lost")...)
	s.afterSQL(true, func(a *alteration) { a.renameTable("author", "lost") }).
		refuses(domain.AlreadyTracked, "$.args", `cannot rename table "author" to "lost" : view/table already tracked`)
}

func TestATableMadeAnewUnderItsNameIsAnother(t *testing.T) {
	given(t, shapeOf(authors()...), tracked("author")...).afterSQL(false, func(a *alteration) { a.tables["author"].OID = 77 }).
		changes("table_untracked public.author")
}

func TestWhatElseFallsIsAFault(t *testing.T) {
	enum := Table{Name: named("colors"), IsEnum: true}
	given(t, shapeOf(enumOf("colors", "red")), enum).afterSQL(true, func(a *alteration) { a.retype("colors", "value", "int4") }).
		refuses(domain.Unexpected, "$.args", "cannot continue due to newly found inconsistent metadata").fault()
}

func TestWhatHadFallenBeforeIsNoFaultUnderItsNewName(t *testing.T) {
	broken := reads("author", "user", `{}`, "nope")
	given(t, shapeOf(authors()...), append(tracked("author"), broken)...).
		afterSQL(false, func(a *alteration) { a.renameTable("author", "writer") }).
		changes("permission_dropped public.author.user.select", "table_untracked public.author",
			"permission_created public.writer.user.select", "table_tracked public.writer")
}

func TestATableThatComesBackIsSeen(t *testing.T) {
	s := given(t, shapeOf(), tracked("author")...)
	if names := s.world.Watch().Names.Tables; !slices.Contains(names, named("author")) {
		t.Fatalf("watches %v", names)
	}
	d, err := Follow(s.world, 2, Sight{Found: foundOf(authors()...)}, false)
	if err != nil || !d.World.Standing.Stands(tableKey(named("author"))) {
		t.Fatalf("%v, %s", err, encode(d.World.Inconsistencies()))
	}
}
