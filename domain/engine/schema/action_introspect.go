package schema

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/metadata"
)

// actionRoot describes a root field of an action.
func (l *lister) actionRoot(r Root) *ast.FieldDefinition {
	a := r.Action
	if r.Kind == ActionResult {
		f := member(a.Name, nullable(l.actionResult(a)), "fetch the result of the action: "+fmt.Sprintf("%q", a.Name))
		f.Arguments = ast.ArgumentDefinitionList{
			argument("id", required(l.scalar(uuidLeaf())), "id of the action: "+fmt.Sprintf("%q", a.Name)),
		}
		return f
	}
	f := member(a.Name, required(l.scalar(uuidLeaf())), description(a.Comment))
	if r.Kind == CallAction {
		f.Type = l.reference(a.Output, l.actionObject(a.Object))
	}
	for _, in := range a.Arguments() {
		f.Arguments = append(f.Arguments, argument(in.Name, l.actionInput(in.Type), in.Description))
	}
	return f
}

func uuidLeaf() Leaf { return Leaf{Name: "uuid", SQL: "uuid"} }

// reference is a type reference with the name of a type that is defined.
func (l *lister) reference(t *ast.Type, name string) *ast.Type {
	if t.Elem != nil {
		return &ast.Type{Elem: l.reference(t.Elem, name), NonNull: t.NonNull}
	}
	return &ast.Type{NamedType: name, NonNull: t.NonNull}
}

func (l *lister) actionInput(t *ast.Type) *ast.Type {
	of := l.role.ActionTypes().Named(t.Name())
	switch {
	case of.Fields != nil:
		return l.reference(t, l.actionInputObject(of))
	case of.Leaf != nil && of.Leaf.Enum != nil:
		return l.reference(t, l.actionEnum(of))
	}
	return l.reference(t, l.actionScalar(of.Name))
}

func (l *lister) actionInputObject(of ActionType) string {
	text := description(l.role.World().CustomTypes().InputObject(of.Name).Description)
	return l.input(of.Name, text, func() ast.FieldList {
		var fields ast.FieldList
		for _, in := range of.Fields {
			fields = append(fields, member(in.Name, l.actionInput(in.Type), in.Description))
		}
		return fields
	})
}

func (l *lister) actionEnum(of ActionType) string {
	enum := l.role.World().CustomTypes().Enum(of.Name)
	return l.define(ast.Definition{Kind: ast.Enum, Name: of.Name, Description: description(enum.Description)}, func(d *ast.Definition) {
		for _, v := range of.Leaf.Enum {
			d.EnumValues = append(d.EnumValues, &ast.EnumValueDefinition{Name: v.Value, Description: v.Comment})
		}
	})
}

func (l *lister) actionScalar(name string) string {
	var text string
	if stored := l.role.World().CustomTypes().Scalar(name); stored != nil {
		text = description(stored.Description)
	}
	return l.define(ast.Definition{Kind: ast.Scalar, Name: name, Description: text}, func(*ast.Definition) {})
}

// actionObject is the type of what a handler answers.
func (l *lister) actionObject(o *ActionObject) string {
	return l.object(o.Name, description(o.Description), func() ast.FieldList {
		var fields ast.FieldList
		for _, f := range o.Fields {
			// The types of fields are scalars and enums, as those of inputs can be.
			stored := ActionInput{f.Name, metadata.TypeOf(f.Type), description(f.Description)}
			fields = append(fields, member(stored.Name, l.actionInput(stored.Type), stored.Description))
		}
		for _, stored := range o.Relationships {
			if r := o.Relationship(stored.Name); r != nil {
				fields = appendNew(fields, l.actionRelated(r))
			}
		}
		return fields
	})
}

func (l *lister) actionRelated(r *Relationship) *ast.FieldDefinition {
	if !r.Table.answers() {
		return nil
	}
	if !r.Array {
		return member(r.Name, nullable(l.row(r.Table)), "An object relationship")
	}
	f := member(r.Name, requiredList(l.row(r.Table)), "An array relationship")
	f.Arguments = l.selectArguments(r.Table)
	return f
}

// actionResult is the type of what became of an asynchronous action.
func (l *lister) actionResult(a *Action) string {
	pending := *a.Output
	pending.NonNull = false // there is none before the handler answered
	return l.object(a.Name, fmt.Sprintf("fields of action: %q", a.Name), func() ast.FieldList {
		return ast.FieldList{
			member("id", required(l.scalar(uuidLeaf())), "the unique id of an action"),
			member("created_at", required(l.scalar(Leaf{Name: "timestamptz", SQL: "timestamptz"})), "the time at which this action was created"),
			member("errors", nullable(l.scalar(Leaf{Name: "json", SQL: "json"})), "errors related to the invocation"),
			member("output", l.reference(&pending, l.actionObject(a.Object)), "the output fields of this action"),
		}
	})
}
