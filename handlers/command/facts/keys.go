package facts

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"

	"github.com/jackc/pgx/v5"
)

//go:embed keys.sql
var keysSQL string

// key is one constraint: a primary key, a unique constraint or a foreign key.
type key struct {
	kind     byte // pg_constraint.contype
	name     string
	shadow   bool // of a foreign key to a partitioned table, on one partition
	from, to keyEnd
}

// keyEnd is the columns of a key in one table; of a foreign key there are two.
type keyEnd struct {
	oid     uint32
	table   domain.QualifiedName
	columns []string
}

// keyPart is one row of keys.sql: one column of a key, at its place.
type keyPart struct {
	oid, from, to         uint32
	kind                  byte
	name                  string
	shadow                bool
	fromSchema, fromName  string
	toSchema, toName      *string
	place                 int
	nearColumn, farColumn *string
}

func (r *reading) queueKeys(batch *pgx.Batch, args []any) {
	var p keyPart
	targets := []any{
		&p.oid, &p.kind, &p.name,
		&p.from, &p.fromSchema, &p.fromName,
		&p.to, &p.toSchema, &p.toName,
		&p.shadow, &p.place, &p.nearColumn, &p.farColumn,
	}
	queue(batch, "read keys", keysSQL, args, targets, func() error {
		k := r.keys[p.oid]
		if k == nil {
			k = p.key()
			r.keys[p.oid] = k
		}
		k.from.put(p.place, p.nearColumn)
		k.to.put(p.place, p.farColumn)
		return nil
	})
}

func (p keyPart) key() *key {
	return &key{
		kind:   p.kind,
		name:   p.name,
		shadow: p.shadow,
		from:   keyEnd{oid: p.from, table: domain.QualifiedName{Schema: p.fromSchema, Name: p.fromName}},
		to:     keyEnd{oid: p.to, table: domain.QualifiedName{Schema: orEmpty(p.toSchema), Name: orEmpty(p.toName)}},
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// put sets the column at a place, counted from 1. The rows of a key need not
// come in order.
func (e *keyEnd) put(place int, column *string) {
	if column == nil {
		return
	}
	for len(e.columns) < place {
		e.columns = append(e.columns, "")
	}
	e.columns[place-1] = *column
}

// fitKeys gives each key to the tables at its ends, in the order of names.
func (r *reading) fitKeys() error {
	for _, k := range r.keys {
		if from := r.relations[k.from.oid]; from != nil {
			if !from.has(k.from.columns) {
				return errTorn
			}
			from.keys--
			from.addKey(k)
		}
		if to := r.relations[k.to.oid]; to != nil && !k.shadow {
			to.table.Referrers = append(to.table.Referrers, database.Referrer{From: k.from.table, Key: k.foreignKey()})
		}
	}
	for _, relation := range r.relations {
		if relation.keys != 0 {
			return errTorn
		}
		relation.sortKeys()
	}
	return nil
}

// has reports whether the table has all of these columns.
func (r *relation) has(columns []string) bool {
	for _, name := range columns {
		if r.table.Column(name) == nil {
			return false
		}
	}
	return true
}

// addKey adds a key of the table's own.
func (r *relation) addKey(k *key) {
	switch k.kind {
	case 'p':
		r.table.PrimaryKey = &database.Constraint{Name: k.name, Columns: k.from.columns}
	case 'u':
		r.table.UniqueKeys = append(r.table.UniqueKeys, database.Constraint{Name: k.name, Columns: k.from.columns})
	case 'f':
		if k.shadow {
			return
		}
		r.table.ForeignKeys = append(r.table.ForeignKeys, k.foreignKey())
	}
}

func (k *key) foreignKey() database.ForeignKey {
	return database.ForeignKey{Name: k.name, Columns: k.from.columns, To: k.to.table, RefColumns: k.to.columns}
}

func (r *relation) sortKeys() {
	slices.SortFunc(r.table.UniqueKeys, func(a, b database.Constraint) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(r.table.ForeignKeys, func(a, b database.ForeignKey) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(r.table.Referrers, func(a, b database.Referrer) int {
		return cmp.Or(
			strings.Compare(a.From.Schema, b.From.Schema),
			strings.Compare(a.From.Name, b.From.Name),
			strings.Compare(a.Key.Name, b.Key.Name),
		)
	})
}
