package facts

import (
	"fmt"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/database"

	"github.com/jackc/pgx/v5"
)

// MaxEnumValues is how many rows an enum table may have.
const MaxEnumValues = 1000

// EnumTooLarge says that a table has too many rows to be used as an enum. It
// unwraps to the refusal that a client is shown.
type EnumTooLarge struct {
	Table domain.QualifiedName
}

func (e *EnumTooLarge) Error() string {
	return fmt.Sprintf("the table %q cannot be used as an enum: it has more than %d rows", e.Table, MaxEnumValues)
}

// Unwrap returns the refusal.
func (e *EnumTooLarge) Unwrap() error {
	return domain.Refuse(domain.ConstraintViolation, "%s", e.Error())
}

// queueEnums reads the rows of the enum tables that have the form of one.
func (r *reading) queueEnums(batch *pgx.Batch) {
	for _, relation := range r.relations {
		if _, ok := r.enums.has[relation.table.Name]; !ok {
			continue
		}
		relation.table.EnumRead = true
		if value, comment, ok := enumForm(&relation.table); ok {
			queueEnum(batch, &relation.table, value, comment)
		}
	}
}

// enumForm returns the columns of an enum table: the one of its primary key,
// and at most one more, which holds comments.
func enumForm(t *database.Table) (value, comment string, ok bool) {
	if t.PrimaryKey == nil || len(t.PrimaryKey.Columns) != 1 || len(t.Columns) > 2 {
		return "", "", false
	}
	value = t.PrimaryKey.Columns[0]
	for _, c := range t.Columns {
		if c.Name != value {
			comment = c.Name
		}
	}
	return value, comment, true
}

func queueEnum(batch *pgx.Batch, t *database.Table, value, comment string) {
	var (
		row  database.EnumValue
		text *string
	)
	t.Enum = []database.EnumValue{}
	act := "read the enum values of " + t.Name.String()
	queue(batch, act, enumSQL(t.Name, value, comment), nil, []any{&row.Value, &text}, func() error {
		row.Comment = orEmpty(text)
		t.Enum = append(t.Enum, row)
		return nil
	})
}

// enumSQL reads the rows of an enum table, one more than there may be.
func enumSQL(table domain.QualifiedName, value, comment string) string {
	return fmt.Sprintf("select %s, %s from %s limit %d",
		asText(value), asText(comment), pgx.Identifier{table.Schema, table.Name}.Sanitize(), MaxEnumValues+1)
}

func asText(column string) string {
	if column == "" {
		return "null::pg_catalog.text"
	}
	return pgx.Identifier{column}.Sanitize() + "::pg_catalog.text"
}

// fitEnums puts the values in order of their bytes, which no collation changes.
func (r *reading) fitEnums() error {
	for _, relation := range r.relations {
		values := relation.table.Enum
		if len(values) > MaxEnumValues {
			return &EnumTooLarge{Table: relation.table.Name}
		}
		slices.SortFunc(values, func(a, b database.EnumValue) int { return strings.Compare(a.Value, b.Value) })
	}
	return nil
}
