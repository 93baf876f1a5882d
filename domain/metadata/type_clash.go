package metadata

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/graphql"
)

// tableTypeSuffixes are what may follow a table's name in the names of types,
// beside [typeSuffixes].
var tableTypeSuffixes = [...]string{
	"_insert_input", "_set_input", "_inc_input", "_pk_columns_input", "_mutation_response", "_on_conflict", "_constraint", "_update_column",
	"_obj_rel_insert_input", "_arr_rel_insert_input", "_avg_fields", "_sum_fields",
}

// IsRootType reports whether a name is that of a type that operations begin at.
func IsRootType(name string) bool {
	return name == "query_root" || name == "mutation_root" || name == "subscription_root"
}

// isTypeOf reports whether a name is that of a type that a table leads to.
func (t Table) isTypeOf(name string) bool {
	suffix, ok := strings.CutPrefix(name, t.GraphQLName())
	return ok && (suffix == "" || slices.Contains(typeSuffixes[:], suffix) || slices.Contains(tableTypeSuffixes[:], suffix))
}

// hasTableType reports whether a name is that of a type that some table leads to.
func (w World) hasTableType(name string) bool {
	if len(w.Roots.index.get(name, typesOf)) > 0 {
		return true
	}
	for _, suffix := range slices.Concat(typeSuffixes[:], tableTypeSuffixes[:]) {
		if base, ok := strings.CutSuffix(name, suffix); ok && len(w.Roots.index.get(base, typesOf)) > 0 {
			return true
		}
	}
	return false
}

// refuseTypeClashes refuses changes after which a type of actions has the name
// of a table's type or of a root, or two remotes have different types of one
// name. Whether a remote's types are those of tables, functions and actions is
// for package schema to say, which makes them.
func (w World) refuseTypeClashes(changes []Change) error {
	custom, _ := lookup[CustomTypes](w.Catalog, customTypesKey)
	for _, c := range changes {
		e := w.Catalog.Get(c.Key())
		if e == nil {
			continue
		}
		var err error
		switch o := e.Object().(type) {
		case Table:
			err = custom.refuseNames(o.isTypeOf)
		case CustomTypes:
			err = o.refuseNames(func(name string) bool { return IsRootType(name) || w.hasTableType(name) })
		case RemoteSchema:
			err = w.refuseOtherTypes(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseNames refuses types of actions whose names are taken.
func (c CustomTypes) refuseNames(taken func(string) bool) error {
	names := c.Names()
	if i := slices.IndexFunc(names, taken); i >= 0 {
		return refuse(domain.ConstraintViolation, "found conflicting definitions for %q when collecting types from the schema", names[i])
	}
	return nil
}

// refuseOtherTypes refuses a remote schema with types that another has in another form.
func (w World) refuseOtherTypes(s RemoteSchema) error {
	types, err := s.Schema()
	if err != nil {
		return nil // it falls for that
	}
	var names []string
	for other := range objects[RemoteSchema](w.Catalog.OfKind(KindRemoteSchema)) {
		if theirs, err := other.Schema(); err == nil && other.Name != s.Name {
			names = append(names, otherTypes(types, theirs)...)
		}
	}
	return RefuseOtherForms(names)
}

// otherTypes lists the types of one name that differ. Roots are never shared.
func otherTypes(a, b *ast.Schema) (names []string) {
	for name, d := range a.Types {
		if other := b.Types[name]; other != nil && !isRoot(a, d) && !isRoot(b, other) && !graphql.SameType(d, other) {
			names = append(names, name)
		}
	}
	return names
}

func isRoot(s *ast.Schema, d *ast.Definition) bool {
	return d == s.Query || d == s.Mutation || d == s.Subscription
}

// RefuseOtherForms is the refusal of a remote's types that others have in
// another form; nil for none.
func RefuseOtherForms(names []string) error {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return refuse(domain.RemoteConflicts, "types: [ %s ] have mismatch with current graphql schema. HINT: Types must be same.",
		strings.Join(slices.Compact(names), ", "))
}
