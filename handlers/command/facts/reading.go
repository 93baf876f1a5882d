package facts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"annals/domain"
	"annals/domain/database"

	"github.com/jackc/pgx/v5"
)

// reading is one reading while it is being made.
type reading struct {
	tables    nameSet
	oids      []uint32
	functions nameSet
	enums     nameSet
	typeNames map[string]struct{} // nil when not wanted

	relations map[uint32]*relation
	keys      map[uint32]*key
	routines  []*routine
	types     typeTable
	// unknown are the types that something refers to and that were not read yet.
	unknown map[uint32]struct{}
}

func newReading(w Wanted) *reading {
	r := emptyReading()
	r.tables = newNameSet(w.Tables, w.Enums)
	r.functions = newNameSet(w.Functions)
	r.enums = newNameSet(w.Enums)
	if w.Types {
		r.typeNames = map[string]struct{}{}
	}
	return r
}

func newReadingByOID(oids []uint32) *reading {
	r := emptyReading()
	r.oids = slices.Compact(slices.Sorted(slices.Values(oids)))
	return r
}

func emptyReading() *reading {
	return &reading{
		relations: map[uint32]*relation{},
		keys:      map[uint32]*key{},
		types:     typeTable{},
		unknown:   map[uint32]struct{}{},
	}
}

// run makes the reading in two round trips. Arrays of domains, and domains
// over them, take one more for each step down to their base.
func (r *reading) run(ctx context.Context, q Querier) error {
	first := &pgx.Batch{}
	r.queueRelations(first)
	r.queueFunctions(first)
	r.queueTypeNames(first)
	if err := send(ctx, q, first); err != nil {
		return err
	}
	if err := r.fitRelations(); err != nil {
		return err
	}
	second := &pgx.Batch{}
	r.queueEnums(second)
	if err := r.readTypes(ctx, q, second); err != nil {
		return err
	}
	r.fitTypes()
	return r.fitEnums()
}

// fitRelations joins columns and keys to their tables.
func (r *reading) fitRelations() error {
	for _, relation := range r.relations {
		if err := relation.fitColumns(); err != nil {
			return err
		}
	}
	return r.fitKeys()
}

// fitTypes completes what refers to types.
func (r *reading) fitTypes() {
	for _, relation := range r.relations {
		relation.fitTypes(r.types)
	}
	for _, routine := range r.routines {
		routine.fitTypes(r.types)
	}
	r.sortFunctions()
}

// found is the reading, by the names that were wanted.
func (r *reading) found(w Wanted) database.Found {
	found := database.Found{
		Tables:    make(map[domain.QualifiedName]*database.Table, len(w.Tables)+len(w.Enums)),
		Functions: make(map[domain.QualifiedName][]*database.Function, len(w.Functions)),
		Types:     r.typeNames,
	}
	for _, name := range slices.Concat(w.Tables, w.Enums) {
		found.Tables[name] = nil
	}
	for _, relation := range r.relations {
		found.Tables[relation.table.Name] = &relation.table
	}
	for _, name := range w.Functions {
		found.Functions[name] = nil
	}
	for _, f := range r.routines {
		found.Functions[f.Name] = append(found.Functions[f.Name], &f.Function)
	}
	return found
}

// table returns the table with an id, nil when there is none.
func (r *reading) table(oid uint32) *database.Table {
	if relation := r.relations[oid]; relation != nil {
		return &relation.table
	}
	return nil
}

// nameSet is a set of names, in the form a statement takes them.
type nameSet struct {
	schemas, names []string
	has            map[domain.QualifiedName]struct{}
}

func newNameSet(lists ...[]domain.QualifiedName) nameSet {
	set := nameSet{has: map[domain.QualifiedName]struct{}{}}
	for _, name := range slices.Concat(lists...) {
		if _, ok := set.has[name]; ok || !canExist(name) {
			continue
		}
		set.has[name] = struct{}{}
		set.schemas = append(set.schemas, name.Schema)
		set.names = append(set.names, name.Name)
	}
	return set
}

// canExist reports whether something could have the name. PostgreSQL refuses
// text with a NUL or broken UTF-8, which would end the transaction, and cuts a
// long name, which would find something else.
func canExist(name domain.QualifiedName) bool {
	return isIdentifier(name.Schema) && isIdentifier(name.Name)
}

func isIdentifier(s string) bool {
	return s != "" && len(s) <= domain.MaxIdentifierBytes &&
		utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// queue adds a statement to a batch: each is called for every row, after the
// row was scanned into the targets.
func queue(batch *pgx.Batch, act, sql string, args, targets []any, each func() error) {
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		if _, err := pgx.ForEachRow(rows, targets, each); err != nil {
			return fmt.Errorf("%s: %w", act, err)
		}
		return nil
	})
}

// send runs the statements of a batch in one round trip.
func send(ctx context.Context, q Querier, batch *pgx.Batch) error {
	if batch.Len() == 0 {
		return nil
	}
	return q.SendBatch(ctx, batch).Close()
}

// readTypes sends the batch, and with it the question for all types that are
// not known yet; then asks again for what these types are made of.
func (r *reading) readTypes(ctx context.Context, q Querier, batch *pgx.Batch) error {
	for {
		asked := slices.Collect(maps.Keys(r.unknown))
		r.queueTypes(batch, asked)
		if err := send(ctx, q, batch); err != nil {
			return err
		}
		for _, oid := range asked {
			if r.types[oid] == nil {
				return errTorn
			}
		}
		if len(r.unknown) == 0 {
			return nil
		}
		batch = &pgx.Batch{}
	}
}
