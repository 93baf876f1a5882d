package schema

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// queries lists the root fields of queries, and of subscriptions.
func (l *lister) queries(typeName string) *ast.Definition {
	d := &ast.Definition{Kind: ast.Object, Name: typeName}
	for root := range l.role.Queries() {
		if (root.Kind == CallAction || root.Kind == RemoteQuery) && typeName == SubscriptionRoot {
			continue // who is elsewhere is asked once
		}
		d.Fields = appendField(d.Fields, l.root(root))
	}
	return d
}

func (l *lister) mutations() *ast.Definition {
	d := &ast.Definition{Kind: ast.Object, Name: MutationRoot}
	for root := range l.role.Mutations() {
		d.Fields = appendField(d.Fields, l.root(root))
	}
	return d
}

// appendField leaves out what is nil.
func appendField(list ast.FieldList, f *ast.FieldDefinition) ast.FieldList {
	if f == nil {
		return list
	}
	return append(list, f)
}

// root describes a root field; nil when a type that it needs would be empty,
// which GraphQL does not allow.
func (l *lister) root(r Root) *ast.FieldDefinition {
	switch r.Kind {
	case RemoteQuery, RemoteMutation:
		return l.remoteRoot(r.Remote)
	case Select, SelectByPK, SelectAggregate:
		return l.selectRoot(r)
	case Call, CallAggregate, ChangingCall:
		return l.callRoot(r)
	case Insert, InsertOne:
		return l.insertRoot(r)
	case CallAction, StartAction, ActionResult:
		return l.actionRoot(r)
	}
	return l.changeRoot(r)
}

func (l *lister) selectRoot(r Root) *ast.FieldDefinition {
	t := r.Table
	from := fmt.Sprintf("from the table: %q", t.Table.Name.Name)
	switch {
	case r.Kind == SelectAggregate:
		f := member(r.Name, required(l.aggregate(t)), "fetch aggregated fields "+from)
		f.Arguments = l.selectArguments(t)
		return f
	case !t.answers():
		return nil
	case r.Kind == SelectByPK:
		f := member(r.Name, nullable(l.row(t)), "fetch data "+from+" using primary key columns")
		f.Arguments = l.keyArguments(t)
		return f
	}
	f := member(r.Name, requiredList(l.row(t)), "fetch data "+from)
	f.Arguments = l.selectArguments(t)
	return f
}

func (l *lister) callRoot(r Root) *ast.FieldDefinition {
	name := r.Function.Shape.Name.Name
	f := member(r.Name, nil, r.Function.Shape.Comment)
	switch {
	case r.Kind == CallAggregate:
		f.Type = required(l.aggregate(r.Table))
		f.Description = fmt.Sprintf("execute function %q and query aggregates of the %q that it returns", name, r.Table.Name)
	case !r.Table.answers():
		return nil
	default:
		f.Type = requiredList(l.row(r.Table))
		if f.Description == "" {
			f.Description = fmt.Sprintf("execute function %q which returns %q", name, r.Table.Name)
		}
	}
	f.Arguments = append(l.callArguments(r.Function), l.selectArguments(r.Table)...)
	return f
}

func (l *lister) insertRoot(r Root) *ast.FieldDefinition {
	t := r.Table
	if !t.takesRows() {
		return nil
	}
	into := fmt.Sprintf("into the table: %q", t.Table.Name.Name)
	var f *ast.FieldDefinition
	if r.Kind == InsertOne {
		if !t.answers() {
			return nil
		}
		f = member(r.Name, nullable(l.row(t)), "insert a single row "+into)
		f.Arguments = ast.ArgumentDefinitionList{argument("object", required(l.newRow(t)), "the row to be inserted")}
	} else {
		f = member(r.Name, nullable(l.response(t)), "insert data "+into)
		f.Arguments = ast.ArgumentDefinitionList{argument("objects", requiredList(l.newRow(t)), "the rows to be inserted")}
	}
	if t.MayUpsert() {
		f.Arguments = append(f.Arguments, argument("on_conflict", nullable(l.onConflict(t)), "what to do on a conflict"))
	}
	return f
}

func (l *lister) changeRoot(r Root) *ast.FieldDefinition {
	t := r.Table
	name := fmt.Sprintf("the table: %q", t.Table.Name.Name)
	where := argument("where", required(l.boolExp(t)), "the rows to be changed")
	switch r.Kind {
	case Update:
		f := member(r.Name, nullable(l.response(t)), "update data of "+name)
		f.Arguments = append(l.changeArguments(t), where)
		return f
	case Delete:
		f := member(r.Name, nullable(l.response(t)), "delete data from "+name)
		f.Arguments = ast.ArgumentDefinitionList{where}
		return f
	case UpdateByPK:
		f := member(r.Name, nullable(l.row(t)), "update a single row of "+name)
		f.Arguments = append(l.changeArguments(t), argument("pk_columns", required(l.keyInput(t)), ""))
		return f
	}
	f := member(r.Name, nullable(l.row(t)), "delete a single row from "+name)
	f.Arguments = l.keyArguments(t)
	return f
}
