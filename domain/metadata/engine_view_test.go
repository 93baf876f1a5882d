package metadata

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"annals/domain/database"
)

// teller tells an expression in words.
type teller struct{}

func (teller) All(list []string) string { return "all(" + strings.Join(list, " ") + ")" }
func (teller) Any(list []string) string { return "any(" + strings.Join(list, " ") + ")" }
func (teller) Not(s string) string      { return "not(" + s + ")" }

func (teller) Related(to *database.Table, columns map[string]string, where string) string {
	return fmt.Sprintf("%s%v%s", to.Name, columns, where)
}

func (teller) Exists(table *database.Table, where string) string {
	return "exists " + table.Name.String() + where
}

func (teller) Compare(c *database.Column, cast, operator string, operand json.RawMessage) string {
	return c.Name + cast + "-" + operator + "-" + string(operand)
}

func (teller) CompareColumns(left, right *database.Column, operator string) string {
	return left.Name + "-" + operator + "-" + right.Name
}

func TestAnExpressionIsVisitedMemberByMember(t *testing.T) {
	w := given(t, shapeOf(authors()...), append(tracked("author", "article"),
		Relationship{Table: named("article"), Name: "author", Type: ObjectRelationship, Using: RelationshipUsing{ForeignKey: &ForeignKeyOn{Column: "author_id"}}},
	)...).world
	for _, c := range []struct{ expression, told string }{
		{`{}`, `all()`},
		{`{"id": 1}`, `all(id-eq-1)`},
		{`{"id": {"$gt": 1, "_lt": "X-Hasura-Max"}}`, `all(id-gt-1 id-lt-"X-Hasura-Max")`},
		{`{"_or": [{"id": 1}, {}], "$not": {"title": {"_is_null": true}}}`, `all(any(all(id-eq-1) all()) not(all(title-is_null-true)))`},
		{`{"$and": [{"author": {"data": {"_cast": {"text": {"_like": "a"}}}}}]}`, `all(all(all(authormap[author_id:id]all(datatext-like-"a"))))`},
		{`{"id": {"_cne": "author_id"}}`, `all(id-ne-author_id)`},
		{`{"_exists": {"$table": "author", "_where": {"name": "x"}}}`, `all(exists authorall(name-eq-"x"))`},
	} {
		told, err := VisitExpression[string](w, w.Shape.Table(named("article")), []byte(c.expression), teller{})
		if err != nil || told != c.told {
			t.Errorf("%s is told as\n%s (%v), not\n%s", c.expression, told, err, c.told)
		}
	}
}

func TestAnExpressionThatNamesWhatIsNotThereIsNotVisited(t *testing.T) {
	w := given(t, shapeOf(authors()...), tracked("article")...).world
	for _, expression := range []string{
		`{"nope": 1}`, `{"_exists": {"_table": "author", "_where": {}}}`, `{"id": {"_ceq": "nope"}}`, `[]`, `{"_and": {}}`, `{`,
	} {
		if told, err := VisitExpression[string](w, w.Shape.Table(named("article")), []byte(expression), teller{}); err == nil {
			t.Errorf("%s is told as %s", expression, told)
		}
	}
}

func TestTheEngineSeesOnlyWhatStands(t *testing.T) {
	w := given(t, shapeOf(tableOf("author", "id int4 pk")), append(tracked("author", "gone"),
		Permission{Table: named("author"), Role: "user", Action: MaySelect, Definition: PermissionDefinition{
			Columns: &ColumnSpec{All: true}, Filter: json.RawMessage(`{"nope":1}`),
		}},
	)...).world
	if _, _, ok := w.TrackedTable(named("author")); !ok {
		t.Error("author stands")
	}
	if _, _, ok := w.TrackedTable(named("gone")); ok {
		t.Error("a table that is gone from the database is seen")
	}
	if _, ok := w.PermissionOf(named("author"), "user", MaySelect); ok {
		t.Error("a permission that cannot stand is seen")
	}
	var empty World
	if _, _, ok := empty.TrackedTable(named("author")); ok {
		t.Error("an empty world has a table")
	}
	for table := range w.TrackedTables() {
		if table.Name != named("author") {
			t.Errorf("%s is listed", table.Name)
		}
	}
}
