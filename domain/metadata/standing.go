package metadata

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/btree"

	"annals/domain"
)

// Need is something an object needs, named so that needs of one table lie
// together: "table public.author", "column public.author.id". An object of the
// catalog is needed by its kind and name; see the functions needX for the rest.
type Need string

func needObject(k Key) Need { return Need(k.String()) }

func needTable(t domain.QualifiedName) Need { return needObject(tableKey(t)) }

// needColumn is a column of the user's database. It is what a drop or rename
// of the column touches.
func needColumn(t domain.QualifiedName, column string) Need {
	return Need("column " + domain.JoinKey(t.Schema, t.Name, column))
}

// needField is a name among the fields of a table, whatever stands behind it:
// who has a field name needs that no other has it.
func needField(t domain.QualifiedName, field string) Need {
	return Need("field " + domain.JoinKey(t.Schema, t.Name, field))
}

// needDatabaseFunction is a function of the user's database, tracked or not.
func needDatabaseFunction(f domain.QualifiedName) Need { return Need("database-function " + f.Key()) }

// Inconsistency says why an object of the catalog cannot stand, in the words
// and the form of v1.3.
type Inconsistency struct {
	Key        Key             `json:"-"`
	Type       string          `json:"type"`
	Definition json.RawMessage `json:"definition"`
	Reason     string          `json:"reason"`
}

// stand is what is known of one object.
type stand struct {
	key    Key
	needs  []Need
	reason string // empty when it stands
}

func (s *stand) same(t *stand) bool {
	return s.reason == t.reason && slices.Equal(s.needs, t.needs)
}

// Standing tells of every object what it needs, and of those that cannot
// stand why. It is immutable and safe to share.
type Standing struct{ index *standings }

type standings struct {
	mu     sync.Mutex
	stands *btree.Map[string, *stand]
	// needed holds need + "\x00" + key, in order: who needs something is a range.
	needed *btree.Map[string, Key]
	// fallen holds the keys of objects that cannot stand.
	fallen *btree.Map[string, *stand]
	// versions holds those that moved since everything was resolved at once;
	// all others have the first.
	versions *btree.Map[string, *Version]
	first    *Version
	moment   *Version
}

// Version stands for an object as it is, with all that belongs to it: while it
// is the same pointer, so is the rest. Anything that is resolved again is
// another version of itself and of the table it belongs to, so a version also
// moves with the user's table or function, and with what the object needs.
type Version struct{ _ byte } // not empty: pointers to nothing may be equal

// Version returns that of an object, there or not.
func (s Standing) Version(key Key) *Version {
	if s.index == nil {
		return nil
	}
	if v, ok := s.index.versions.Get(key.stored()); ok {
		return v
	}
	return s.index.first
}

// Moment returns the version of the whole: another one after every change of
// the catalog, and every change of the shape that something needs.
func (s Standing) Moment() *Version {
	if s.index == nil {
		return nil
	}
	return s.index.moment
}

// VersionOfTable returns that of a table.
func (s Standing) VersionOfTable(name domain.QualifiedName) *Version {
	return s.Version(tableKey(name))
}

// VersionOfFunction returns that of a tracked function.
func (s Standing) VersionOfFunction(name domain.QualifiedName) *Version {
	return s.Version(functionKey(name))
}

// moved gives an object, and the table it belongs to, another version.
func (s *standings) moved(key Key) {
	v := &Version{}
	s.versions.Set(key.stored(), v)
	if table, ok := key.table(); ok {
		s.versions.Set(table.stored(), v)
	}
}

func newStandings() *standings {
	return &standings{
		stands: &btree.Map[string, *stand]{},
		needed: &btree.Map[string, Key]{},
		fallen: &btree.Map[string, *stand]{},

		versions: &btree.Map[string, *Version]{}, first: &Version{}, moment: &Version{},
	}
}

func (s *standings) copy() *standings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &standings{
		stands: s.stands.Copy(), needed: s.needed.Copy(), fallen: s.fallen.Copy(),
		versions: s.versions.Copy(), first: s.first, moment: &Version{},
	}
}

func (s *standings) get(key Key) *stand {
	st, _ := s.stands.Get(key.stored())
	return st
}

func (s *standings) set(st *stand) {
	s.remove(st.key)
	s.stands.Set(st.key.stored(), st)
	for _, n := range st.needs {
		s.needed.Set(string(n)+"\x00"+st.key.stored(), st.key)
	}
	if st.reason != "" {
		s.fallen.Set(st.key.stored(), st)
	}
}

func (s *standings) remove(key Key) {
	old := s.get(key)
	if old == nil {
		return
	}
	s.stands.Delete(key.stored())
	s.fallen.Delete(key.stored())
	for _, n := range old.needs {
		s.needed.Delete(string(n) + "\x00" + key.stored())
	}
}

func (s *standings) dependents(prefix string) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		s.needed.Ascend(prefix, func(k string, key Key) bool {
			return strings.HasPrefix(k, prefix) && yield(key)
		})
	}
}

// dependentsOf yields the keys of the objects that need something.
func (s Standing) dependentsOf(n Need) iter.Seq[Key] { return s.index.dependents(string(n) + "\x00") }

// dependentsOfTable yields the keys of the objects that need a table, one of
// its columns or one of its fields. Keys may come more than once.
func (s Standing) dependentsOfTable(t domain.QualifiedName) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		for key := range s.dependentsOf(needTable(t)) {
			if !yield(key) {
				return
			}
		}
		for _, prefix := range []string{"column ", "field "} {
			for key := range s.index.dependents(prefix + t.Key() + ".") {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// Stands reports whether an object is in the catalog and consistent. In the
// zero Standing nothing is.
func (s Standing) Stands(key Key) bool {
	if s.index == nil {
		return false
	}
	st := s.index.get(key)
	return st != nil && st.reason == ""
}

// Inconsistent returns how many objects cannot stand.
func (s Standing) Inconsistent() int { return s.index.fallen.Len() }

// Inconsistencies lists the objects that cannot stand, in the order of their
// kinds and names.
func (w World) Inconsistencies() []Inconsistency {
	list := []Inconsistency{}
	w.Standing.index.fallen.Scan(func(_ string, st *stand) bool {
		list = append(list, w.inconsistency(st))
		return true
	})
	slices.SortStableFunc(list, func(a, b Inconsistency) int {
		return cmp.Compare(ranks[a.Key.Kind], ranks[b.Key.Kind])
	})
	return list
}

func (w World) inconsistency(st *stand) Inconsistency {
	d := w.Catalog.Get(st.key).Object().described()
	return Inconsistency{Key: st.key, Type: d.Type, Definition: encode(d.Definition), Reason: st.reason}
}

// newInconsistencies lists what cannot stand in w and could, or was not there,
// in before. An object that already could not stand, and now cannot for
// another reason, is not new.
func (w World) newInconsistencies(before World) []Inconsistency {
	var list []Inconsistency
	w.Standing.index.fallen.Scan(func(_ string, st *stand) bool {
		if old := before.Standing.index.get(st.key); old == nil || old.reason == "" {
			list = append(list, w.inconsistency(st))
		}
		return true
	})
	return list
}
