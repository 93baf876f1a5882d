package metadata

import "annals/domain"

// Touched is what may have other types in GraphQL after a decision. All of it
// is there.
type Touched struct {
	Tables, Functions []domain.QualifiedName
	Actions           []string
	CustomTypes       bool
	// Remotes are the remote schemas that were added or read again.
	Remotes []string
}

// Touched finds out what a decision touches: what it changes, and the tables
// that are related to those. It costs what the changes are; SQL, after which
// all tables were looked at, costs what they are.
func (d Decision) Touched(before World) Touched {
	keys := map[Key]bool{}
	for _, c := range d.Changes {
		d.World.touch(keys, c.Key())
	}
	if d.reshaped {
		d.World.touchMoved(keys, before)
	}
	return d.World.touched(keys)
}

// touch adds what has the types of an object, and its name in them.
func (w World) touch(keys map[Key]bool, key Key) {
	if table, ok := key.table(); ok {
		if key.Kind != KindPermission { // which changes nothing for the admin
			keys[table] = true
		}
		return
	}
	keys[key] = true
	if key.Kind != KindTable {
		return
	}
	for user := range w.Standing.dependentsOf(needObject(key)) {
		if table, ok := user.table(); ok {
			keys[table] = true
		} else {
			keys[user] = true
		}
	}
	if t, ok := lookup[Table](w.Catalog, key); ok && w.Shape.Table(t.Name) != nil {
		for _, r := range w.Shape.Table(t.Name).Referrers { // of what may be an enum
			keys[tableKey(r.From)] = true
		}
	}
}

func (w World) touchMoved(keys map[Key]bool, before World) {
	for t := range objects[Table](w.Catalog.OfKind(KindTable)) {
		if before.Standing.VersionOfTable(t.Name) != w.Standing.VersionOfTable(t.Name) {
			keys[t.Key()] = true
		}
	}
}

// touched are those of the keys that are there.
func (w World) touched(keys map[Key]bool) (t Touched) {
	for key := range keys {
		e := w.Catalog.Get(key)
		if e == nil {
			continue
		}
		switch o := e.Object().(type) {
		case Table:
			t.Tables = append(t.Tables, o.Name)
		case Function:
			t.Functions = append(t.Functions, o.Name)
		case Action:
			t.Actions = append(t.Actions, o.Name)
		case CustomTypes:
			t.CustomTypes = true
		case RemoteSchema:
			t.Remotes = append(t.Remotes, o.Name)
		}
	}
	return t
}
