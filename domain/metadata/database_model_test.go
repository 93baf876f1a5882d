package metadata

import (
	"slices"

	"pgregory.net/rapid"

	"annals/domain"
	"annals/domain/database"
)

// model is a user's database that SQL can change.
type model struct {
	tables    []*database.Table
	functions map[domain.QualifiedName][]*database.Function
	lastOID   uint32
	turn      int
}

func newModel(t *rapid.T) *model {
	m := &model{functions: map[domain.QualifiedName][]*database.Function{}}
	for _, name := range []string{"a", "b", "c"} {
		m.create(t, name)
	}
	for _, name := range []string{"f", "g"} {
		m.replaceFunction(t, name)
	}
	return m
}

func (m *model) table(name domain.QualifiedName) *database.Table {
	i := slices.IndexFunc(m.tables, func(t *database.Table) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return m.tables[i]
}

func (m *model) create(t *rapid.T, name string) {
	if m.table(named(name)) != nil {
		return
	}
	columns := []string{"id " + someTypes.Draw(t, "type") + " pk"}
	for _, c := range rapid.SliceOfNDistinct(someColumns.Filter(func(c string) bool { return c != "id" }), 2, 4, rapid.ID).Draw(t, "columns") {
		columns = append(columns, c+" "+someTypes.Draw(t, "type"))
	}
	table := tableOf(name, columns...)
	m.lastOID++
	table.OID = m.lastOID
	m.tables = append(m.tables, table)
	for _, c := range []string{"a_id", "b_id"} {
		if table.Column(c) != nil && rapid.IntRange(0, 3).Draw(t, "refers") > 0 {
			m.refer(table, c, named(c[:1]))
		}
	}
}

func (m *model) refer(table *database.Table, column string, to domain.QualifiedName) {
	if target := m.table(to); target != nil && target.PrimaryKey != nil && len(keysOn(table, column)) == 0 {
		table.ForeignKeys = append(table.ForeignKeys, database.ForeignKey{
			Name: "key_" + column, Columns: []string{column}, To: to, RefColumns: slices.Clone(target.PrimaryKey.Columns),
		})
	}
}

func (m *model) replaceFunction(t *rapid.T, name string) {
	of, table := someTables.Draw(t, "of"), someTables.Draw(t, "rows of")
	choices := []*database.Function{rowFunction(name, of), rowsFunction(name, of, table), stableFunction(name, table)}
	f := choices[evenly(t, len(choices), m.turn, "function")]
	f.Volatility = rapid.SampledFrom([]database.Volatility{database.Stable, database.Stable, database.Stable, database.Volatile}).Draw(t, "volatility")
	m.functions[named(name)] = slices.Repeat([]*database.Function{f}, rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2}).Draw(t, "overloads"))
}

// alter is one statement of DDL. What was read before is not touched: each
// table is changed as a copy.
func (m *model) alter(t *rapid.T) {
	for i, table := range m.tables {
		m.tables[i] = cloneTable(table)
	}
	name := []string{"a", "b", "c", "d"}[evenly(t, 4, m.turn, "table")]
	table := m.table(named(name))
	if table == nil {
		m.create(t, name)
		return
	}
	column := mostly(t, columnNames(table), someColumns, "column")
	m.turn++
	switch evenly(t, 10, m.turn, "statement") {
	case 0:
		m.drop(table)
	case 1, 2:
		if to := named(someTables.Draw(t, "new name")); m.table(to) == nil {
			m.rename(Rename{Table: table.Name, NewTable: to})
		}
	case 3, 4:
		to := someFields.Draw(t, "new column")
		if table.Column(column) != nil && table.Column(to) == nil {
			m.rename(Rename{Table: table.Name, Column: column, NewColumn: to})
		}
	case 5:
		m.dropColumn(table, column)
	case 6:
		if c := table.Column(column); c != nil {
			c.Type = someTypes.Draw(t, "new type")
		}
		table.ForeignKeys = slices.DeleteFunc(table.ForeignKeys, func(database.ForeignKey) bool { return rapid.Bool().Draw(t, "drop key") })
	case 7:
		m.replaceFunction(t, someFunctions.Draw(t, "function"))
	default:
		m.create(t, someTables.Draw(t, "new table"))
	}
}

func columnNames(t *database.Table) []string {
	if t == nil {
		return nil
	}
	var names []string
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

func (m *model) rename(r Rename) {
	for i, table := range m.tables {
		m.tables[i] = r.shape(table)
	}
	for name, overloads := range m.functions {
		m.functions[name] = r.functions(overloads)
	}
}

func (m *model) drop(table *database.Table) {
	m.tables = slices.DeleteFunc(m.tables, func(t *database.Table) bool { return t == table })
	for _, other := range m.tables {
		other.ForeignKeys = slices.DeleteFunc(other.ForeignKeys, func(k database.ForeignKey) bool { return k.To == table.Name })
	}
}

func (m *model) dropColumn(table *database.Table, column string) {
	if table.PrimaryKey != nil && slices.Contains(table.PrimaryKey.Columns, column) {
		return
	}
	table.Columns = slices.DeleteFunc(table.Columns, func(c database.Column) bool { return c.Name == column })
	table.ForeignKeys = slices.DeleteFunc(table.ForeignKeys, func(k database.ForeignKey) bool { return slices.Contains(k.Columns, column) })
}

// reading is what a look at every name finds.
func (m *model) reading() database.Found {
	found := database.Found{Tables: map[domain.QualifiedName]*database.Table{}, Functions: map[domain.QualifiedName][]*database.Function{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		found.Tables[named(name)] = m.table(named(name))
		found.Functions[named(name)] = nil
	}
	for name, overloads := range m.functions {
		found.Functions[name] = overloads
	}
	return found
}

func (m *model) sight(watch Watch) Sight {
	s := Sight{Tables: map[uint32]*database.Table{}, Found: database.Found{
		Tables: map[domain.QualifiedName]*database.Table{}, Functions: map[domain.QualifiedName][]*database.Function{},
	}}
	for oid := range watch.OIDs {
		s.Tables[oid] = nil
	}
	for _, table := range m.tables {
		if _, watched := watch.OIDs[table.OID]; watched {
			s.Tables[table.OID] = table
		}
	}
	for _, name := range watch.Names.Tables {
		s.Found.Tables[name] = m.table(name)
	}
	for _, name := range watch.Names.Functions {
		s.Found.Functions[name] = m.functions[name]
	}
	return s
}
