package translate

import (
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// Attached is rows that belong to objects which did not come from the
// database. The statements are bound with the objects' keys as rows, so there
// are as many statements as levels, however many objects.
type Attached struct {
	// Keys are the members of an object that its row is made of, in order.
	Keys   []string
	Levels []AttachedLevel
}

// AttachedLevel is the rows of one relationship; On lists the columns of an
// object's row that hold its key.
type AttachedLevel struct {
	Level *Level
	On    []int
}

// Attach translates relationships from objects to rows: Here of their pairs is
// a member of the object, There a column.
func Attach(related []*plan.Related, o Options) Step {
	t := &translator{options: o}
	var a Attached
	for _, rel := range related {
		keys, on := t.keysOfMembers(rel, &a)
		level := t.level(t.scope(rel.Rows, keys, rel.On...), rel.Rows.Selection)
		a.Levels = append(a.Levels, AttachedLevel{level, on})
	}
	return Step{Statements: t.statements, Attached: &a}
}

// keysOfMembers is the keys of objects, given as arrays of texts. Each is cast
// to the column's type to join by, and carried as it came to be found again.
func (t *translator) keysOfMembers(rel *plan.Related, a *Attached) (k *keyset, on []int) {
	k = &keyset{alias: t.alias("k"), exact: make([]bool, len(rel.On))}
	unnested := t.alias("u")
	arrays, names := make([]sql.Node, len(rel.On)), make([]sql.Node, len(rel.On))
	sel := sql.Select{Distinct: true}
	for i, pair := range rel.On {
		on = append(on, len(a.Keys))
		a.Keys = append(a.Keys, pair.Here)
		arrays[i] = sql.Value{Of: Parameter{Keys: len(a.Keys)}, Type: textArrayType}
		names[i] = sql.Name(keyName(i))
		text := sql.Column(unnested, keyName(i))
		sel.Columns = append(sel.Columns,
			sql.As(sql.Cast(text, typeOf(rel.Rows.Source.Table.Column(pair.There))), sql.Name(keyName(i))),
			sql.As(text, sql.Name(keyTextName(i))))
	}
	sel.From = sql.Seq(sql.Call("unnest", arrays...), sql.Raw(" AS "), unnested, sql.Paren(sql.List(names...)))
	k.node = sql.As(sql.Paren(sel), k.alias)
	return k, on
}
