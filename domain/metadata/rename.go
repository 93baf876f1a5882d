package metadata

import "annals/domain"

// Rename is a new name that a table, or one of its columns, was given in the
// user's database.
type Rename struct {
	// Table is the table's name before.
	Table domain.QualifiedName
	// Column is the column's name before; empty when the table was renamed.
	Column string
	// NewTable is the table's name after a rename of the table.
	NewTable domain.QualifiedName
	// NewColumn is the column's name after a rename of the column.
	NewColumn string

	// world is the world in which the names before hold: a filter has to be
	// followed along relationships to know whose columns it names.
	world World
}

// table returns the name after the rename.
func (r Rename) table(name domain.QualifiedName) domain.QualifiedName {
	if r.Column == "" && name == r.Table {
		return r.NewTable
	}
	return name
}

// column returns the name after the rename of a column of a table.
func (r Rename) column(table domain.QualifiedName, column string) string {
	if r.Column != "" && table == r.Table && column == r.Column {
		return r.NewColumn
	}
	return column
}

// columns returns the names after the rename of columns of a table.
func (r Rename) columns(table domain.QualifiedName, columns []string) []string {
	if columns == nil || r.Column == "" || table != r.Table {
		return columns
	}
	renamed := make([]string, len(columns))
	for i, c := range columns {
		renamed[i] = r.column(table, c)
	}
	return renamed
}
