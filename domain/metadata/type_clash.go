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

// rootTypes are the names of the types that operations begin at.
var rootTypes = [...]string{"query_root", "mutation_root", "subscription_root"}

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
// of a table's type, of a root or of a remote's type, or two remotes have
// different types of one name.
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
			err = w.refuseCustomTypes(o)
		case RemoteSchema:
			err = w.refuseOtherTypes(o, custom)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseNames refuses types of actions whose names are taken.
func (c CustomTypes) refuseNames(taken func(string) bool) error {
	names := c.names()
	if i := slices.IndexFunc(names, taken); i >= 0 {
		return refuse(domain.ConstraintViolation, "found conflicting definitions for %q when collecting types from the schema", names[i])
	}
	return nil
}

func (w World) refuseCustomTypes(c CustomTypes) error {
	taken := func(name string) bool { return slices.Contains(rootTypes[:], name) || w.hasTableType(name) }
	if err := c.refuseNames(taken); err != nil {
		return err
	}
	for s := range objects[RemoteSchema](w.Catalog.OfKind(KindRemoteSchema)) {
		if types, err := s.Schema(); err == nil {
			if names := c.mismatches(types); names != nil {
				return mismatch(names)
			}
		}
	}
	return nil
}

// mismatches lists the types of actions that a remote has too, and that are not
// scalars on both sides.
func (c CustomTypes) mismatches(types *ast.Schema) (names []string) {
	for _, name := range c.names() {
		if d := types.Types[name]; d != nil && (d.Kind != ast.Scalar || c.Scalar(name) == nil) && !isRoot(types, d) {
			names = append(names, name)
		}
	}
	return names
}

// refuseOtherTypes refuses a remote schema with types that others have in another form.
func (w World) refuseOtherTypes(s RemoteSchema, custom CustomTypes) error {
	types, err := s.Schema()
	if err != nil {
		return nil // it falls for that
	}
	names := custom.mismatches(types)
	for other := range objects[RemoteSchema](w.Catalog.OfKind(KindRemoteSchema)) {
		if theirs, err := other.Schema(); err == nil && other.Name != s.Name {
			names = append(names, otherTypes(types, theirs)...)
		}
	}
	if names != nil {
		return mismatch(names)
	}
	return nil
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

// mismatch is the refusal of types that others have in another form.
func mismatch(names []string) error {
	slices.Sort(names)
	return refuse(domain.RemoteConflicts, "types: [ %s ] have mismatch with current graphql schema. HINT: Types must be same.",
		strings.Join(slices.Compact(names), ", "))
}
