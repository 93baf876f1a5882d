package metadata

import "annals/domain/wire"

// pgAliases returns the names that clients of the next generation send for
// operations on the database: pg_ before the name, and a source, of which
// there is only "default".
func pgAliases(ops []operation, names ...string) []operation {
	var aliases []operation
	for _, op := range ops {
		for _, name := range names {
			if op.name == name && op.version == 1 {
				aliases = append(aliases, operation{"pg_" + name, 1, ofDefaultSource(op.decode)})
			}
		}
	}
	return aliases
}

// withPgAliases adds to operations the names that clients of the next
// generation have for some of them.
func withPgAliases(ops []operation, names ...string) []operation {
	return append(ops, pgAliases(ops, names...)...)
}

// ofDefaultSource refuses a source that does not exist.
func ofDefaultSource(decode func(wire.Node) Command) func(wire.Node) Command {
	return func(n wire.Node) Command {
		if n.Kind() == wire.Object {
			if source := n.Optional("source"); source.Present() && source.String() != "default" {
				source.Fail("the only source is \"default\"")
			}
		}
		return decode(n)
	}
}
