// Package facts reads the shape of the user's database inside a given
// transaction: what is there at this moment, for the names a command is about.
//
// [Read] answers by name, [ReadByOID] by object id, which finds a table again
// that was renamed meanwhile. Both cost what was asked for, however large the
// database is: names are looked up by index, all of them in one pipelined
// round trip, and a second one reads the types that turned up and the rows of
// enum tables.
//
//	found, err := facts.Read(ctx, tx, facts.Wanted{Tables: names})
//	shape = shape.With(found)
//
// What always holds:
//
//   - Every name that was asked for is in the answer, with nothing where there
//     is nothing. A name that PostgreSQL would cut short, or could not hold,
//     names nothing.
//   - The answer does not depend on search_path, and lists are in a fixed order.
//   - Only catalogues of pg_catalog are read. That waits for no lock, with two
//     exceptions, which take ACCESS SHARE: a view is opened to see what may be
//     done to it, and the rows of enum tables are read. How long to wait is the
//     transaction's lock_timeout.
//   - At READ COMMITTED each statement sees its own moment. A reading that does
//     not fit together, because the database changed in the middle, is thrown
//     away and made again.
//
// Which of the tables found may be tracked, or used, the caller decides.
package facts

import (
	"context"
	"errors"
	"fmt"

	"annals/domain"
	"annals/domain/database"

	"github.com/jackc/pgx/v5"
)

// Querier is what the facts are read through: a pgx.Tx, as a rule.
type Querier interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// Wanted names what to read. A name that comes twice is read once.
type Wanted struct {
	Tables    []domain.QualifiedName
	Functions []domain.QualifiedName
	// Enums are tables whose rows are read too, as enum values. They need not
	// be among Tables.
	Enums []domain.QualifiedName
	// Types asks for the names of all scalar types.
	Types bool
}

// maxAttempts is how often a reading is made before the database is said to
// change too fast to be read.
const maxAttempts = 5

// errTorn says that the statements of one reading saw different moments.
var errTorn = errors.New("the database changed while its shape was being read")

// Read reads the tables, functions and types wanted. An enum table with more
// than [MaxEnumValues] rows is an error, [*EnumTooLarge]; the transaction can
// still be used after it.
func Read(ctx context.Context, q Querier, w Wanted) (database.Found, error) {
	r, err := attempt(ctx, q, func() *reading { return newReading(w) })
	if err != nil {
		return database.Found{}, err
	}
	return r.found(w), nil
}

// ReadByOID reads tables by object id, whatever they are called now. Each id
// asked for is in the answer, with nil where no table has it.
//
// It is how a change made by free SQL is understood: read the tables' facts
// before, run the SQL, read them again by the ids they had. A table that is
// gone was dropped, one with another name was renamed, and a column keeps its
// number.
func ReadByOID(ctx context.Context, q Querier, oids []uint32) (map[uint32]*database.Table, error) {
	r, err := attempt(ctx, q, func() *reading { return newReadingByOID(oids) })
	if err != nil {
		return nil, err
	}
	tables := make(map[uint32]*database.Table, len(oids))
	for _, oid := range oids {
		tables[oid] = r.table(oid)
	}
	return tables, nil
}

// attempt makes readings until one fits together.
func attempt(ctx context.Context, q Querier, begin func() *reading) (*reading, error) {
	for n := 1; ; n++ {
		r := begin()
		err := r.run(ctx, q)
		if errors.Is(err, errTorn) && n < maxAttempts {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the shape of the database: %w", err)
		}
		return r, nil
	}
}
