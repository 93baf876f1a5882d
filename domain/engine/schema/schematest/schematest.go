// Package schematest makes worlds for the tests of the GraphQL engine: a
// database and its metadata, each written as a few lines of text.
package schematest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"annals/domain"
	"annals/domain/database"
	"annals/domain/metadata"
)

// World makes a world of texts. The metadata is a call of the metadata API a
// line, the shape a line for each thing:
//
//	table author: id int4 pk default, name text null unique, age int4 null
//	table article: id int4 pk, author_id int4 references author(id), tags text[]
//	view author_names: name text
//	enum colors: red, green
//	function search(text, found int4 default) setof author stable
//	function full_name(author_row row:author) text stable
func World(t testing.TB, shape, calls string) metadata.World {
	t.Helper()
	w := metadata.NewWorld(metadata.Catalog{}, shapeOf(t, shape), metadata.Environment{})
	for i, call := range strings.Split(strings.TrimSpace(calls), "\n") {
		req, err := metadata.Parse([]byte(call))
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		d, err := metadata.Decide(w, int64(i+1), req.Command.(metadata.Decider))
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		w = d.World
	}
	return w
}

// shapeOf reads a shape.
func shapeOf(t testing.TB, text string) database.Shape {
	found := database.Found{
		Tables:    map[domain.QualifiedName]*database.Table{},
		Functions: map[domain.QualifiedName][]*database.Function{},
		Types:     map[string]struct{}{},
	}
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case "table", "view":
			table := tableOf(t, rest)
			table.Insertable, table.Updatable, table.Deletable = kind == "table", kind == "table", kind == "table"
			found.Tables[table.Name] = table
		case "enum":
			name, values, _ := strings.Cut(rest, ": ")
			table := tableOf(t, name+": value text pk, comment text null")
			table.Insertable, table.Updatable, table.Deletable, table.EnumRead = true, true, true, true
			for _, v := range strings.Split(values, ", ") {
				table.Enum = append(table.Enum, database.EnumValue{Value: v})
			}
			found.Tables[table.Name] = table
		case "function":
			f := functionOf(t, rest)
			found.Functions[f.Name] = append(found.Functions[f.Name], f)
		}
	}
	for _, table := range found.Tables {
		for _, key := range table.ForeignKeys {
			to := found.Tables[key.To]
			to.Referrers = append(to.Referrers, database.Referrer{From: table.Name, Key: key})
		}
	}
	return database.Shape{}.With(found)
}

func named(text string) domain.QualifiedName {
	if schema, name, ok := strings.Cut(text, "."); ok {
		return domain.QualifiedName{Schema: schema, Name: name}
	}
	return domain.QualifiedName{Schema: domain.PublicSchema, Name: text}
}

var columnText = regexp.MustCompile(`^(\S+) ([a-z0-9_-]+)(\[\])?((?: pk| null| unique| default)*)(?: references (\S+)\((\S+)\))?$`)

func tableOf(t testing.TB, text string) *database.Table {
	name, columns, _ := strings.Cut(text, ": ")
	table := &database.Table{Name: named(name), Kind: database.OrdinaryTable}
	for i, column := range strings.Split(columns, ", ") {
		m := columnText.FindStringSubmatch(column)
		if m == nil {
			t.Fatalf("%q is no column", column)
		}
		flags := strings.Fields(m[4])
		table.Columns = append(table.Columns, database.Column{
			Name: m[1], Number: int16(i + 1), Type: m[2], Array: m[3] != "", SQLType: m[2] + m[3], TypeKind: 'b',
			Nullable: slices.Contains(flags, "null"), HasDefault: slices.Contains(flags, "default"),
		})
		if slices.Contains(flags, "pk") {
			if table.PrimaryKey == nil {
				table.PrimaryKey = &database.Constraint{Name: table.Name.Name + "_pkey"}
			}
			table.PrimaryKey.Columns = append(table.PrimaryKey.Columns, m[1])
		}
		if slices.Contains(flags, "unique") {
			key := database.Constraint{Name: table.Name.Name + "_" + m[1] + "_key", Columns: []string{m[1]}}
			table.UniqueKeys = append(table.UniqueKeys, key)
		}
		if m[5] != "" {
			table.ForeignKeys = append(table.ForeignKeys, database.ForeignKey{
				Name: table.Name.Name + "_" + m[1] + "_fkey", Columns: []string{m[1]}, To: named(m[5]), RefColumns: []string{m[6]},
			})
		}
	}
	return table
}

var functionText = regexp.MustCompile(`^([a-z_.]+)\((.*)\) (setof )?(\S+) (stable|volatile)$`)

// functionOf reads a function. An argument is its type, or its name and type.
func functionOf(t testing.TB, text string) *database.Function {
	m := functionText.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%q is no function", text)
	}
	f := &database.Function{
		Name: named(m[1]), Volatility: database.Volatility(strings.ToUpper(m[5])),
		ReturnsSet: m[3] != "", ReturnType: m[4], ReturnSchema: "pg_catalog", ReturnKind: 'b',
	}
	if f.ReturnsSet {
		table := named(m[4])
		f.ReturnsTable, f.ReturnKind, f.ReturnSchema = &table, 'c', table.Schema
	}
	for _, text := range strings.Split(m[2], ", ") {
		if text == "" {
			continue
		}
		text, hasDefault := strings.CutSuffix(text, " default")
		if hasDefault {
			f.Defaults++
		}
		name, typ, isNamed := strings.Cut(text, " ")
		if !isNamed {
			name, typ = "", text
		}
		a := database.Argument{Name: name, Type: typ, SQLType: typ, TypeKind: 'b'}
		if row, ok := strings.CutPrefix(typ, "row:"); ok {
			table := named(row)
			a.Type, a.TypeKind, a.Row = row, 'c', &table
		}
		f.Arguments = append(f.Arguments, a)
	}
	return f
}
