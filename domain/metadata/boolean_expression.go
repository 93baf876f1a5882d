package metadata

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/wire"
)

// A boolean expression says of a row whether a role may have it:
//
//	{"author": {"id": "X-Service-User-Id"}, "_or": [{"published": true}, {"age": {"_gt": 7}}]}
//
// A member is a column with operators (a bare value means _eq), a
// relationship with an expression about the row it leads to, or one of _and,
// _or, _not and _exists. Names of operators begin with _ or $.

// The words that combine expressions.
const (
	wordAnd    = "and"
	wordOr     = "or"
	wordNot    = "not"
	wordExists = "exists"
)

// operatorWord returns an operator's name without its sign; ok is false when
// the name is none of an operator.
func operatorWord(name string) (word string, ok bool) {
	if len(name) > 1 && (name[0] == '_' || name[0] == '$') {
		return name[1:], true
	}
	return "", false
}

// combiningWord returns one of the words that combine expressions, empty for
// the name of a column or relationship.
func combiningWord(name string) string {
	if word, ok := operatorWord(name); ok && slices.Contains([]string{wordAnd, wordOr, wordNot, wordExists}, word) {
		return word
	}
	return ""
}

// signed returns a member that may be given as _name or $name.
func signed(n wire.Node, name string) wire.Node {
	if dollar := n.Member("$" + name); dollar.Given() {
		return dollar
	}
	return n.Field("_" + name)
}

// ExistsMembers reads what is looked for by an exists: rows of a table, and
// the condition that they shall meet.
func ExistsMembers(n wire.Node) (table domain.QualifiedName, where wire.Node) {
	return signed(n, "table").Name(), signed(n, "where")
}

// operand is what an operator is compared with.
type operand byte

const (
	operandOne    operand = iota // a value of the column's type
	operandMany                  // a list of them
	operandBool                  // true or false
	operandText                  // a text
	operandTexts                 // a list of texts
	operandJSON                  // any JSON value
	operandShape                 // a geometry
	operandWithin                // {"distance", "from"}
	operandRaster                // see the raster functions of PostGIS
	operandColumn                // another column of the row
	operandCast                  // {type: operators}
)

// operator is what is known of one: what it takes, and the types of columns
// that it works on, all when empty.
type operator struct {
	operand operand
	types   []string
}

var (
	textTypes     = []string{"text", "varchar", "bpchar", "citext", "name"}
	jsonTypes     = []string{"jsonb"}
	geometryTypes = []string{"geometry"}
	geoTypes      = []string{"geometry", "geography"}
	spatialTypes  = []string{"geometry", "geography", "raster"}
	rasterTypes   = []string{"raster"}
)

// operators lists all operators by their words.
var operators = map[string]operator{
	"eq": {}, "ne": {}, "neq": {}, "gt": {}, "lt": {}, "gte": {}, "lte": {},
	"in": {operand: operandMany}, "nin": {operand: operandMany},
	"is_null": {operand: operandBool},

	"like": {operandText, textTypes}, "nlike": {operandText, textTypes},
	"ilike": {operandText, textTypes}, "nilike": {operandText, textTypes},
	"similar": {operandText, textTypes}, "nsimilar": {operandText, textTypes},

	"contains": {operandJSON, jsonTypes}, "contained_in": {operandJSON, jsonTypes},
	"has_key": {operandText, jsonTypes}, "has_keys_any": {operandTexts, jsonTypes}, "has_keys_all": {operandTexts, jsonTypes},

	"st_contains": {operandShape, geometryTypes}, "st_crosses": {operandShape, geometryTypes},
	"st_equals": {operandShape, geometryTypes}, "st_overlaps": {operandShape, geometryTypes},
	"st_touches": {operandShape, geometryTypes}, "st_within": {operandShape, geometryTypes},
	"st_intersects": {operandShape, spatialTypes}, "st_d_within": {operandWithin, geoTypes},
	"st_3d_d_within":     {operandWithin, geometryTypes},
	"st_intersects_rast": {operandRaster, rasterTypes}, "st_intersects_nband_geom": {operandRaster, rasterTypes},
	"st_intersects_geom_nband": {operandRaster, rasterTypes},

	"ceq": {operand: operandColumn}, "cne": {operand: operandColumn}, "cneq": {operand: operandColumn},
	"cgt": {operand: operandColumn}, "clt": {operand: operandColumn},
	"cgte": {operand: operandColumn}, "clte": {operand: operandColumn},

	"cast": {operand: operandCast},
}

// casts lists the types that a column of a type can be cast to.
var casts = map[string][]string{"geometry": {"geography"}, "geography": {"geometry"}, "jsonb": {"text"}}

// needColumnType is the type of a column. Who compares the column with a
// literal needs it: a change of the type touches them, while a session
// variable is text that any type can be read from.
func needColumnType(t domain.QualifiedName, column string) Need {
	return Need("type " + domain.JoinKey(t.Schema, t.Name, column))
}

// expressionResolver looks up what an expression names. The first fault is
// kept by the nodes, and becomes the object's reason.
type expressionResolver struct{ *resolver }

// boolean resolves an expression about the rows of a table.
func (r *resolver) boolean(t *database.Table, raw json.RawMessage) {
	r.decoding(raw, func(n wire.Node) { expressionResolver{r}.rows(n, t) })
}

// decoding walks a stored value; a fault of the walk is the object's.
func (r *resolver) decoding(raw json.RawMessage, walk func(wire.Node)) {
	v, err := wire.Parse(raw)
	if err == nil {
		_, err = wire.Decode(v, func(n wire.Node) struct{} { walk(n); return struct{}{} })
	}
	if fault, ok := err.(*domain.Error); ok {
		r.fail("%s", fault.Message)
	}
}

func (e expressionResolver) rows(n wire.Node, t *database.Table) {
	for name, member := range n.Members() {
		switch combiningWord(name) {
		case wordAnd, wordOr:
			for _, item := range member.Items() {
				e.rows(item, t)
			}
		case wordNot:
			e.rows(member, t)
		case wordExists:
			e.exists(member)
		default:
			e.field(name, member, t)
		}
		if n.Failed() {
			return
		}
	}
}

func (e expressionResolver) exists(n wire.Node) {
	name, where := ExistsMembers(n)
	if n.Failed() {
		return
	}
	if _, other, ok := e.standingTable(name); ok {
		e.rows(where, other)
	} else {
		n.Fail("table %q does not exist", name)
	}
}

// field resolves a member that names a column or a relationship.
func (e expressionResolver) field(name string, n wire.Node, t *database.Table) {
	if column := e.column(t, name); column != nil {
		e.comparisons(n, t, column, column.Type)
		return
	}
	key := relationshipKey(t.Name, name)
	rel, ok := lookup[Relationship](e.world.Catalog, key)
	switch {
	case ok:
		e.related(key, rel, n)
	case e.stands(computedFieldKey(t.Name, name)):
		n.Fail("Computed columns can not be part of the where clause")
	case e.stands(remoteRelationshipKey(t.Name, name)):
		n.Fail("remote field unsupported")
	default:
		e.need(needObject(key))
		n.Fail("column %q does not exist", name)
	}
}

func (e expressionResolver) related(key Key, rel Relationship, n wire.Node) {
	if !e.stands(key) {
		n.Fail("column %q does not exist", rel.Name)
		return
	}
	to, _, _ := join(e.world.Shape, rel)
	if _, other, ok := e.standingTable(to); ok {
		e.rows(n, other)
	} else {
		n.Fail("table %q does not exist", to)
	}
}

// comparisons resolves the operators on a column, which counts as the type
// that it may have been cast to.
func (e expressionResolver) comparisons(n wire.Node, t *database.Table, c *database.Column, as string) {
	if as == "json" && !c.Array {
		n.Fail("JSON column can not be part of where clause")
		return
	}
	if n.Kind() != wire.Object {
		e.one(n, t, c, as)
		return
	}
	for name, operand := range n.Members() {
		word, _ := operatorWord(name)
		op, known := operators[word]
		if !known {
			operand.Fail("unknown operator %q for the column %q", name, c.Name)
			return
		}
		if len(op.types) > 0 && (c.Array || !slices.Contains(op.types, as)) {
			operand.Fail("column %q is of type %q; this operator works only on columns of type %s", c.Name, typeText(c, as), quotedTypes(op.types))
			return
		}
		e.operand(op.operand, operand, t, c, as)
	}
}

// typeText is a column's type as SQL calls it, or the type it was cast to. One
// that is not PostgreSQL's own goes by its name, without its schema.
func typeText(c *database.Column, as string) string {
	_, name, qualified := strings.Cut(c.SQLType, ".")
	switch {
	case as != c.Type:
		return as
	case qualified:
		return name
	}
	return c.SQLType
}

func quotedTypes(types []string) string {
	quoted := make([]string, len(types))
	for i, t := range types {
		quoted[i] = fmt.Sprintf("%q", t)
	}
	return strings.Join(quoted, "/")
}

func (e expressionResolver) operand(kind operand, n wire.Node, t *database.Table, c *database.Column, as string) {
	switch kind {
	case operandOne:
		e.one(n, t, c, as)
	case operandMany:
		e.many(n, t, c, func(item wire.Node) { checkLiteral(item, c, as) })
	case operandBool:
		n.Bool()
	case operandText:
		e.literal(n, t, c, func() { _ = n.String() })
	case operandTexts:
		e.many(n, t, c, func(item wire.Node) { _ = item.String() })
	case operandColumn:
		e.otherColumn(n, t, c)
	case operandCast:
		e.cast(n, t, c)
	case operandWithin:
		_, from := n.Field("distance"), n.Field("from")
		e.literal(from, t, c, func() { checkLiteral(from, c, as) })
	case operandShape:
		e.literal(n, t, c, func() { checkLiteral(n, c, as) })
	default:
		e.literal(n, t, c, func() {})
	}
}

// literal resolves an operand that is a session variable or else is checked.
func (e expressionResolver) literal(n wire.Node, t *database.Table, c *database.Column, check func()) {
	if isSessionVariable(n) {
		return
	}
	e.need(needColumnType(t.Name, c.Name))
	check()
}

func (e expressionResolver) one(n wire.Node, t *database.Table, c *database.Column, as string) {
	e.literal(n, t, c, func() {
		if c.Array && n.Kind() == wire.Array {
			for _, item := range n.Items() {
				checkLiteral(item, c, as)
			}
			return
		}
		if c.Array && n.Present() {
			_ = n.String() // an array literal, such as {1,2}
			return
		}
		checkLiteral(n, c, as)
	})
}

func (e expressionResolver) many(n wire.Node, t *database.Table, c *database.Column, check func(wire.Node)) {
	e.literal(n, t, c, func() {
		for _, item := range n.Items() {
			if !isSessionVariable(item) {
				check(item)
			}
		}
	})
}

func isSessionVariable(n wire.Node) bool {
	return n.Kind() == wire.String && domain.IsSessionVariable(n.String())
}

// checkLiteral makes sure that a literal can be read as a value of the type.
// A string always may: PostgreSQL reads it. Of types not known here anything
// is left to PostgreSQL.
func checkLiteral(n wire.Node, c *database.Column, as string) {
	if !n.Present() || n.Kind() == wire.String || c.Array && n.Kind() == wire.Array {
		return
	}
	switch as {
	case "int2", "int4", "int8", "float4", "float8", "numeric":
		n.Number()
	case "bool":
		n.Bool()
	case "text", "varchar", "bpchar", "citext", "name", "uuid", "date", "time", "timetz", "timestamp", "timestamptz":
		_ = n.String()
	}
}

func (e expressionResolver) otherColumn(n wire.Node, t *database.Table, c *database.Column) {
	name := n.String()
	if n.Failed() {
		return
	}
	other := e.column(t, name)
	if other == nil {
		n.Fail("column %q does not exist", name)
		return
	}
	e.need(needColumnType(t.Name, c.Name))
	e.need(needColumnType(t.Name, name))
	if other.Type != c.Type || other.Array != c.Array {
		n.Fail("incompatible column types : %q, %q", c.Name, name)
	}
}

func (e expressionResolver) cast(n wire.Node, t *database.Table, c *database.Column) {
	for to, comparisons := range n.Members() {
		if !slices.Contains(casts[c.Type], to) || c.Array {
			n.FailCode(domain.UnexpectedPayload, "cannot cast column of type %q to type %q", typeText(c, c.Type), to)
			return
		}
		e.need(needColumnType(t.Name, c.Name))
		e.comparisons(comparisons, t, c, to)
	}
}

// rewriting writes an expression with other names in it.
type rewriting struct {
	// world tells where relationships lead; names are those before.
	world World
	table func(domain.QualifiedName) domain.QualifiedName
	// field gives the new name of a column or relationship of a table.
	field func(table domain.QualifiedName, name string) string
}

// expression rewrites an expression about the rows of a table. What cannot be
// read stays as it is.
func (w rewriting) expression(raw json.RawMessage, t domain.QualifiedName) json.RawMessage {
	v, err := wire.Parse(raw)
	if err != nil {
		return raw
	}
	rewritten, err := wire.Decode(v, func(n wire.Node) json.RawMessage { return w.rows(nil, n, t) })
	if err != nil {
		return raw
	}
	return rewritten
}

func (w rewriting) rows(b []byte, n wire.Node, t domain.QualifiedName) []byte {
	return appendObject(b, n, func(b []byte, name string, member wire.Node) []byte {
		switch combiningWord(name) {
		case wordAnd, wordOr:
			return appendArray(appendName(b, name), member, func(b []byte, item wire.Node) []byte { return w.rows(b, item, t) })
		case wordNot:
			return w.rows(appendName(b, name), member, t)
		case wordExists:
			return w.exists(appendName(b, name), member)
		}
		return w.member(appendName(b, w.field(t, name)), name, member, t)
	})
}

func (w rewriting) exists(b []byte, n wire.Node) []byte {
	before := signed(n, "table").Name()
	return appendObject(b, n, func(b []byte, name string, member wire.Node) []byte {
		b = appendName(b, name)
		switch word, _ := operatorWord(name); {
		case word == "where":
			return w.rows(b, member, before)
		case word == "table" && w.table(before) != before:
			return append(b, encode(w.table(before))...)
		}
		return member.Value().Append(b)
	})
}

func (w rewriting) member(b []byte, name string, n wire.Node, t domain.QualifiedName) []byte {
	rel, ok := lookup[Relationship](w.world.Catalog, relationshipKey(t, name))
	if !ok {
		return w.comparisons(b, n, t)
	}
	if to, _, ok := join(w.world.Shape, rel); ok {
		return w.rows(b, n, to)
	}
	return n.Value().Append(b)
}

func (w rewriting) comparisons(b []byte, n wire.Node, t domain.QualifiedName) []byte {
	return appendObject(b, n, func(b []byte, name string, operand wire.Node) []byte {
		b = appendName(b, name)
		word, _ := operatorWord(name)
		switch operators[word].operand {
		case operandColumn:
			if operand.Kind() == wire.String {
				return wire.AppendString(b, w.field(t, operand.String()))
			}
		case operandCast:
			return appendObject(b, operand, func(b []byte, to string, inner wire.Node) []byte {
				return w.comparisons(appendName(b, to), inner, t)
			})
		}
		return operand.Value().Append(b)
	})
}

func appendName(b []byte, name string) []byte { return append(wire.AppendString(b, name), ':') }

// appendObject writes an object with its members as write has them; another
// value is written as it is.
func appendObject(b []byte, n wire.Node, write func(b []byte, name string, member wire.Node) []byte) []byte {
	if n.Kind() != wire.Object {
		return n.Value().Append(b)
	}
	b = append(b, '{')
	first := true
	for name, member := range n.Members() {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = write(b, name, member)
	}
	return append(b, '}')
}

func appendArray(b []byte, n wire.Node, write func(b []byte, item wire.Node) []byte) []byte {
	if n.Kind() != wire.Array {
		return n.Value().Append(b)
	}
	b = append(b, '[')
	for i, item := range n.Items() {
		if i > 0 {
			b = append(b, ',')
		}
		b = write(b, item)
	}
	return append(b, ']')
}
