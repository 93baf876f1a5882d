package schema

import (
	"cmp"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// answers reports whether there is anything to select of a row.
func (t *Table) answers() bool {
	own := func(t *Table) bool {
		if len(t.ReadableColumns()) > 0 {
			return true
		}
		for r := range t.Relationships() {
			if r.aggregates() {
				return true
			}
		}
		for f := range t.ComputedFields() {
			if f.Rows == nil {
				return true
			}
		}
		for range t.RemoteRelationships() {
			return true
		}
		return false
	}
	return reaches(t, own, func(t *Table, yield func(*Table) bool) {
		for r := range t.Relationships() {
			if !yield(r.Table) {
				return
			}
		}
		for f := range t.ComputedFields() {
			if f.Rows != nil && !yield(f.Rows) {
				return
			}
		}
	})
}

// aggregates reports whether there is a field that aggregates the rows.
func (r *Relationship) aggregates() bool { return r.Array && r.Table.Select.Aggregations }

// row is the type of a table's rows.
func (l *lister) row(t *Table) string {
	description := cmp.Or(t.Shape.Comment, fmt.Sprintf("columns and relationships of %q", t.Table.Name.Name))
	return l.object(t.Name, description, func() ast.FieldList {
		var fields ast.FieldList
		for _, c := range t.ReadableColumns() {
			fields = append(fields, l.column(c))
		}
		for r := range t.Relationships() {
			fields = appendNew(fields, l.related(t, r))
			if r.aggregates() {
				fields = appendNew(fields, l.relatedAggregate(r))
			}
		}
		for f := range t.ComputedFields() {
			fields = appendNew(fields, l.computed(f))
		}
		for r := range t.RemoteRelationships() {
			fields = appendNew(fields, l.joined(r))
		}
		return fields
	})
}

// appendNew adds a field unless it is nil, or there is one of its name: as in
// operations, the earlier one counts.
func appendNew(list ast.FieldList, f *ast.FieldDefinition) ast.FieldList {
	if f == nil || list.ForName(f.Name) != nil {
		return list
	}
	return append(list, f)
}

func (l *lister) column(c *Column) *ast.FieldDefinition {
	t := required(l.scalar(c.Type))
	t.NonNull = !c.Nullable
	f := member(c.Field, t, c.Comment)
	f.Arguments = l.pathArguments(c.Type)
	return f
}

// pathArguments are the arguments of a value that is JSON.
func (l *lister) pathArguments(t Leaf) ast.ArgumentDefinitionList {
	if !t.JSON() {
		return nil
	}
	return ast.ArgumentDefinitionList{argument("path", nullable(String), "JSON select path")}
}

func (l *lister) related(t *Table, r *Relationship) *ast.FieldDefinition {
	if !r.Table.answers() {
		return nil
	}
	if r.Array {
		f := member(r.Name, requiredList(l.row(r.Table)), "An array relationship")
		f.Arguments = l.selectArguments(r.Table)
		return f
	}
	to := nullable(l.row(r.Table))
	to.NonNull = t.alwaysHas(r)
	return member(r.Name, to, "An object relationship")
}

// alwaysHas reports whether every row has a related one that the role can see:
// a foreign key says so, if its columns are never null and the permission is
// for all rows. Of columns joined by hand nothing is known.
func (t *Table) alwaysHas(r *Relationship) bool {
	stored, _ := t.role.World().RelationshipOf(t.Table.Name, r.Name)
	if key := stored.Using.ForeignKey; key == nil || key.Table != nil || !r.Table.Select.forAllRows() {
		return false
	}
	for here := range r.On {
		if c := t.Shape.Column(here); c == nil || c.Nullable {
			return false
		}
	}
	return true
}

// forAllRows reports whether the permission's filter is empty.
func (p *Permission) forAllRows() bool {
	return len(p.Filter) == 0 || string(p.Filter) == "{}"
}

func (l *lister) relatedAggregate(r *Relationship) *ast.FieldDefinition {
	f := member(r.Name+AggregateSuffix, required(l.aggregate(r.Table)), "An aggregated array relationship")
	f.Arguments = l.selectArguments(r.Table)
	return f
}

func (l *lister) computed(c *ComputedField) *ast.FieldDefinition {
	description := cmp.Or(c.Function.Shape.Comment, "A computed field, executes function "+
		fmt.Sprintf("%q", c.Function.Shape.Name.Name))
	if c.Rows == nil {
		f := member(c.Name, nullable(l.scalar(c.Type)), description)
		f.Arguments = append(l.callArguments(c.Function), l.pathArguments(c.Type)...)
		return f
	}
	if !c.Rows.answers() {
		return nil
	}
	f := member(c.Name, listOf(l.row(c.Rows)), description)
	f.Arguments = append(l.callArguments(c.Function), l.selectArguments(c.Rows)...)
	return f
}

// aggregate is the type of aggregates over a table's rows.
func (l *lister) aggregate(t *Table) string {
	return l.object(t.Name+"_aggregate", fmt.Sprintf("aggregated selection of %q", t.Table.Name.Name), func() ast.FieldList {
		fields := ast.FieldList{member("aggregate", nullable(l.aggregateFields(t)), "")}
		if t.answers() {
			fields = append(fields, member("nodes", requiredList(l.row(t)), ""))
		}
		return fields
	})
}

func (l *lister) aggregateFields(t *Table) string {
	return l.object(t.Name+"_aggregate_fields", fmt.Sprintf("aggregate fields of %q", t.Table.Name.Name), func() ast.FieldList {
		count := member(Count, required(l.scalar(Leaf{Name: Int})), "")
		count.Arguments = ast.ArgumentDefinitionList{argument("distinct", nullable(Boolean), "")}
		if len(t.ReadableColumns()) > 0 {
			count.Arguments = append(count.Arguments, argument("columns", listOf(l.selectColumn(t)), ""))
		}
		fields := ast.FieldList{count}
		for _, function := range AggregateFunctions() {
			if columns := t.Aggregated(function); len(columns) > 0 {
				fields = append(fields, member(function, nullable(l.aggregated(t, function, columns)), ""))
			}
		}
		return fields
	})
}

func (l *lister) aggregated(t *Table, function string, columns []*Column) string {
	return l.object(t.Name+"_"+function+"_fields", "aggregate "+function+" on columns", func() ast.FieldList {
		var fields ast.FieldList
		for _, c := range columns {
			fields = append(fields, member(c.Field, nullable(l.scalar(AggregateType(function, c))), c.Comment))
		}
		return fields
	})
}
