package metadata

import (
	"encoding/json"

	"annals/domain/database"
)

// objectKey is an object relationship over a foreign key of its own table.
func objectKey(table, name, column string) Relationship {
	return Relationship{
		Table: named(table), Name: name, Type: ObjectRelationship,
		Using: RelationshipUsing{ForeignKey: &ForeignKeyOn{Column: column}},
	}
}

// arrayKey is an array relationship over a foreign key of another table.
func arrayKey(table, name, remote, column string) Relationship {
	to := named(remote)
	return Relationship{
		Table: named(table), Name: name, Type: ArrayRelationship,
		Using: RelationshipUsing{ForeignKey: &ForeignKeyOn{Table: &to, Column: column}},
	}
}

// manual is an array relationship over one pair of columns.
func manual(table, name, remote, column, remoteColumn string) Relationship {
	return Relationship{
		Table: named(table), Name: name, Type: ArrayRelationship,
		Using: RelationshipUsing{Manual: &ManualConfiguration{named(remote), map[string]string{column: remoteColumn}}},
	}
}

// reads is a select permission for columns and rows.
func reads(table, role, filter string, columns ...string) Permission {
	return Permission{Table: named(table), Role: role, Action: MaySelect, Definition: PermissionDefinition{
		Columns: &ColumnSpec{Names: columns}, Filter: json.RawMessage(filter),
	}}
}

// readAll is a select permission for all there is.
func readAll(table, role string) Permission {
	return Permission{Table: named(table), Role: role, Action: MaySelect, Definition: PermissionDefinition{
		Columns: &ColumnSpec{All: true}, Filter: json.RawMessage(`{}`),
	}}
}

func computed(table, name, function string) ComputedField {
	return ComputedField{Table: named(table), Name: name, Definition: ComputedFieldDefinition{Function: named(function)}}
}

// stableFunction returns rows of a table.
func stableFunction(name, table string) *database.Function {
	row := named(table)
	return &database.Function{
		Name: named(name), Volatility: database.Stable, ReturnsSet: true,
		ReturnType: row.Name, ReturnSchema: row.Schema, ReturnKind: 'c', ReturnsTable: &row,
		Arguments: []database.Argument{{Name: "search", Type: "text", TypeKind: 'b'}},
	}
}

// rowFunction makes a text of a table's row.
func rowFunction(name, table string) *database.Function {
	return &database.Function{
		Name: named(name), Volatility: database.Stable, ReturnType: "text", ReturnSchema: "pg_catalog", ReturnKind: 'b',
		Arguments: []database.Argument{rowArgument("", table)},
	}
}

func rowArgument(name, table string) database.Argument {
	row := named(table)
	return database.Argument{Name: name, Type: row.Name, TypeKind: 'c', Row: &row}
}
