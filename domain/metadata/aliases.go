package metadata

import (
	"slices"

	"annals/domain/wire"
)

// withPgAliases adds to operations on the database the names that clients of
// the next generation send for some of them: pg_ before the name, and a source,
// of which there is only "default".
func withPgAliases(ops []operation, names ...string) []operation {
	for _, op := range ops {
		if op.version == 1 && slices.Contains(names, op.name) {
			ops = append(ops, operation{"pg_" + op.name, 1, ofDefaultSource(op.decode)})
		}
	}
	return ops
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
