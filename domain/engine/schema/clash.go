package schema

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/graphql"
	"annals/domain/metadata"
)

// RefuseClashes refuses a decision after which a remote schema has a type that
// tables, functions or actions have in another form, as the admin sees it. Types
// of one name that are the same are one type.
//
// Of a remote that was added or read again, each type is looked up by its name;
// of what else was touched, each name that its types may have is looked up in
// every remote. So it costs what is touched, however many tables there are. A
// clash that was there before stays out of it.
func RefuseClashes(before metadata.World, d metadata.Decision) error {
	remotes := slices.Collect(d.World.RemoteSchemas())
	if len(remotes) == 0 {
		return nil
	}
	c := clashes{before: For(before, domain.AdminRole, false), after: For(d.World, domain.AdminRole, false)}
	touched := d.Touched(before)
	names := c.after.namesOf(touched)
	for _, remote := range remotes {
		c.look(remote.Name, names)
	}
	for _, name := range touched.Remotes {
		c.lookAll(name)
	}
	return metadata.RefuseOtherForms(c.names)
}

// clashes collects the names of types that clash.
type clashes struct {
	before, after *Role
	names         []string
}

// look looks up names in a remote's types.
func (c *clashes) look(remote string, names map[string]bool) {
	types := c.after.World().RemoteTypes(remote)
	for name := range names {
		if types.Types[name] != nil {
			c.add(remote, name)
		}
	}
}

// lookAll looks at all types of a remote.
func (c *clashes) lookAll(remote string) {
	if types := c.after.World().RemoteTypes(remote); types != nil {
		for name := range types.Types {
			c.add(remote, name)
		}
	}
}

func (c *clashes) add(remote, name string) {
	if c.after.differs(remote, name) && !c.before.differs(remote, name) {
		c.names = append(c.names, name)
	}
}

// differs reports whether a remote has a type of ours in another form. Its
// roots are its own.
func (r *Role) differs(remote, name string) bool {
	types := r.World().RemoteTypes(remote)
	if types == nil || types.Types[name] == nil || strings.HasPrefix(name, "__") || isRoot(types, types.Types[name]) {
		return false
	}
	if metadata.IsRootType(name) {
		return true
	}
	own := r.Type(name)
	return own != nil && !graphql.SameType(own, types.Types[name])
}

func isRoot(s *ast.Schema, d *ast.Definition) bool {
	return d == s.Query || d == s.Mutation || d == s.Subscription
}

// namesOf lists the names that the types of what was touched may have.
func (r *Role) namesOf(t metadata.Touched) map[string]bool {
	names := map[string]bool{}
	add := func(list []string) {
		for _, name := range list {
			names[name] = true
		}
	}
	for _, name := range t.Tables {
		if table := r.Table(name); table != nil {
			add(table.typeNames())
		}
	}
	for _, name := range t.Functions {
		if f := r.functionOf(name); f != nil {
			add(f.typeNames())
		}
	}
	for _, name := range t.Actions {
		names[name] = true
		if a := r.action(name); a != nil {
			add(a.Mentions())
		}
	}
	if t.CustomTypes {
		types := r.World().CustomTypes()
		add(types.Names())
		add(types.Mentions())
	}
	return names
}
