package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/engine/schema"
	"annals/domain/metadata"
	"annals/domain/wire"
)

// ruled is what a permission says, read once for a plan: a table may come in
// many places.
type ruled struct {
	filter, check Condition
	presets       []Assignment
}

func (b *builder) ruled(t *schema.Table, p *schema.Permission) ruled {
	r, ok := b.rules[p]
	if !ok {
		r = ruled{b.expression(t.Shape, p.Filter), b.expression(t.Shape, p.Check), b.readPresets(t.Shape, p)}
		b.rules[p] = r
	}
	return r
}

// filter is the rows that a permission is for.
func (b *builder) filter(t *schema.Table, p *schema.Permission) Condition {
	return b.ruled(t, p).filter
}

// check is what a permission demands of new rows.
func (b *builder) check(t *schema.Table, p *schema.Permission) Condition { return b.ruled(t, p).check }

// conflictCheck is what the update permission demands of a row that an upsert
// changed. One that demands nothing in so many words is not one without a check,
// where the insert permission's counts.
func (b *builder) conflictCheck(t *schema.Table) Condition {
	if c := b.check(t, t.Update); c != nil || t.Update.Check == nil {
		return c
	}
	return All{}
}

// presets are the values that a permission gives to columns.
func (b *builder) presets(t *schema.Table, p *schema.Permission) []Assignment {
	return b.ruled(t, p).presets
}

func (b *builder) readPresets(t *database.Table, p *schema.Permission) []Assignment {
	var list []Assignment
	for _, name := range slices.Sorted(maps.Keys(p.Presets)) {
		if c := t.Column(name); c != nil {
			list = append(list, Assignment{c, b.stored(arrayText(c, p.Presets[name]))})
		}
	}
	return list
}

// expression is a stored boolean expression as a condition.
func (b *builder) expression(t *database.Table, raw json.RawMessage) Condition {
	if raw == nil {
		return nil
	}
	c, err := metadata.VisitExpression[Condition](b.role.World(), t, raw, visitor{b})
	if err != nil {
		// A permission that stands names nothing that is not there: better no
		// row than one too many.
		b.root.failCode(domain.Unexpected, "the permission on %q cannot be understood", t.Name)
		return Never{}
	}
	return c
}

// visitor makes conditions of stored expressions.
type visitor struct{ b *builder }

func (visitor) All(list []Condition) Condition { return allOf(list...) }
func (visitor) Any(list []Condition) Condition { return anyOf(list...) }
func (visitor) Not(c Condition) Condition      { return not(c) }

func (visitor) Related(to *database.Table, columns map[string]string, where Condition) Condition {
	var on []Pair
	for _, here := range slices.Sorted(maps.Keys(columns)) {
		on = append(on, Pair{here, columns[here]})
	}
	return Exists{Table: to, On: on, Where: where}
}

func (visitor) Exists(table *database.Table, where Condition) Condition {
	return Exists{Table: table, Where: where}
}

func (visitor) CompareColumns(left, right *database.Column, operator string) Condition {
	return CompareColumns{left, right, operatorWord(operator)}
}

// operatorWord is the one word of operators that have two.
func operatorWord(word string) string {
	if word == "ne" {
		return "neq"
	}
	return word
}

func (v visitor) Compare(c *database.Column, cast, operator string, operand json.RawMessage) Condition {
	compare := Compare{Column: c, CastTo: cast, Operator: operatorWord(operator)}
	compare.NullSafe = compare.Operator == "eq" || compare.Operator == "neq"
	switch compare.Operator {
	case "is_null":
		return IsNull{c, v.b.stored(operand)}
	case "in", "nin", "has_keys_any", "has_keys_all":
		return v.listed(compare, operand)
	case "st_d_within", "st_3d_d_within":
		compare.Value, compare.More = v.parts(operand, "from")
	case "st_intersects_nband_geom", "st_intersects_geom_nband":
		compare.Value, compare.More = v.parts(operand, "geommin")
	default:
		compare.Value = v.b.stored(arrayText(c, operand))
	}
	return compare
}

// arrayText is a list as PostgreSQL reads an array, where the column is one.
func arrayText(c *database.Column, operand json.RawMessage) json.RawMessage {
	if !c.Array || len(operand) == 0 || operand[0] != '[' {
		return operand
	}
	return wire.AppendString(nil, storedValue(operand).array())
}

func storedValue(raw json.RawMessage) value {
	parsed, err := wire.Parse(raw)
	if err != nil {
		return value{}
	}
	v, err := wire.Decode(parsed, ofJSON)
	if err != nil {
		return value{}
	}
	return v
}

// listed compares with a list. Where session variables are among its items,
// each item is compared for itself.
func (v visitor) listed(compare Compare, operand json.RawMessage) Condition {
	list := storedValue(operand)
	if list.kind != kindList || !slices.ContainsFunc(list.items, isSessionVariable) {
		compare.Value = v.b.stored(operand)
		return compare
	}
	conditions := make([]Condition, len(list.items))
	for i, item := range list.items {
		one := compare
		one.Operator = map[string]string{"in": "eq", "nin": "neq", "has_keys_any": "has_key", "has_keys_all": "has_key"}[compare.Operator]
		one.Value = v.b.stored(item.json())
		conditions[i] = one
	}
	if compare.Operator == "in" || compare.Operator == "has_keys_any" {
		return anyOf(conditions...)
	}
	return allOf(conditions...)
}

func isSessionVariable(v value) bool { return v.kind == kindText && domain.IsSessionVariable(v.text) }

// parts reads an operand of several members: one is the value compared with.
func (v visitor) parts(operand json.RawMessage, main string) (Value, map[string]Value) {
	var compared Value
	more := map[string]Value{}
	for _, m := range storedValue(operand).members {
		if m.name == main {
			compared = v.b.stored(m.value.json())
		} else {
			more[m.name] = v.b.stored(m.value.json())
		}
	}
	return compared, more
}

// stored is a value of the metadata: a session variable, or what it says.
func (b *builder) stored(raw json.RawMessage) Value {
	if v := storedValue(raw); isSessionVariable(v) {
		name := domain.SessionVariable(strings.TrimSpace(v.text))
		b.session[name] = true
		return Value{Session: name}
	}
	return Value{Literal: raw}
}
