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

func needTable(t domain.QualifiedName) Need { return needObject(keyOf(KindTable, t.Schema, t.Name)) }

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
}

func newStandings() *standings {
	return &standings{
		stands: &btree.Map[string, *stand]{},
		needed: &btree.Map[string, Key]{},
		fallen: &btree.Map[string, *stand]{},
	}
}

func (s *standings) copy() *standings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &standings{stands: s.stands.Copy(), needed: s.needed.Copy(), fallen: s.fallen.Copy()}
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

// Stands reports whether an object is in the catalog and consistent.
func (s Standing) Stands(key Key) bool {
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
