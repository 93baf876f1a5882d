package facts

import (
	"cmp"
	_ "embed"
	"strings"

	"annals/domain"
	"annals/domain/database"

	"github.com/jackc/pgx/v5"
)

//go:embed types.sql
var typesSQL string

//go:embed type_names.sql
var typeNamesSQL string

// typeFacts is one row of pg_type.
type typeFacts struct {
	schema, name string
	kind         byte   // typtype
	element      uint32 // of an array, else 0
	base         uint32 // of a domain, else 0
	notNull      bool
	hasDefault   bool
	sqlType      string
	// prefix is the schema where sqlType lacks it, with its dot.
	prefix string
	// row is the relation whose row type this is.
	row *domain.QualifiedName
}

// typeTable holds the types by oid.
type typeTable map[uint32]*typeFacts

// need notes that a type is referred to. There is no type 0.
func (r *reading) need(oid uint32) {
	if _, known := r.types[oid]; !known && oid != 0 {
		r.unknown[oid] = struct{}{}
	}
}

func (r *reading) queueTypes(batch *pgx.Batch, oids []uint32) {
	if len(oids) == 0 {
		return
	}
	var (
		oid uint32
		t   typeFacts
		row domain.QualifiedName
	)
	targets := []any{
		&oid, &t.schema, &t.name, &t.kind, &t.element, &t.base, &t.notNull, &t.hasDefault,
		&t.sqlType, &t.prefix, &row.Schema, &row.Name,
	}
	queue(batch, "read types", typesSQL, []any{oids}, targets, func() error {
		r.addType(oid, t, row)
		return nil
	})
}

func (r *reading) addType(oid uint32, t typeFacts, row domain.QualifiedName) {
	if row.Name != "" {
		t.row = &row
	}
	r.types[oid] = &t
	delete(r.unknown, oid)
	r.need(t.element)
	r.need(t.base)
}

func (r *reading) queueTypeNames(batch *pgx.Batch) {
	if r.typeNames == nil {
		return
	}
	var name string
	queue(batch, "read the names of types", typeNamesSQL, nil, []any{&name}, func() error {
		r.typeNames[name] = struct{}{}
		return nil
	})
}

// demands is what a column's domains say of its values.
type demands struct {
	notNull, hasDefault bool
}

// describe fills in what the column's type says, down to the base of domains
// and the element of arrays, and returns the demands of its domains.
func (types typeTable) describe(c *database.Column, oid uint32) demands {
	t := types[oid]
	d := demands{hasDefault: t.base != 0 && t.hasDefault}
	c.SQLType = types.sqlName(oid, cmp.Or(c.SQLType, t.sqlType))
	for {
		switch {
		case t.base != 0:
			c.Domain = cmp.Or(c.Domain, t.name)
			d.notNull = d.notNull || t.notNull && !c.Array
			t = types[t.base]
		case t.element != 0:
			c.Array = true
			t = types[t.element]
		default:
			c.Type, c.TypeKind = t.name, t.kind
			return d
		}
	}
}

// sqlName completes a name as format_type printed it under some search_path:
// PostgreSQL's own types stand without their schema, others with it. An array
// is printed as its element, so it is the element's schema that counts.
func (types typeTable) sqlName(oid uint32, printed string) string {
	t := types[oid]
	if t.element != 0 {
		t = types[t.element]
	}
	if t.schema == "pg_catalog" {
		return strings.TrimPrefix(printed, "pg_catalog.")
	}
	return t.prefix + printed
}
