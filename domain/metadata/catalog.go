package metadata

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"annals/domain"
)

// Kind is what an object of the catalog is.
type Kind string

// The kinds of objects.
const (
	KindTable              Kind = "table"
	KindFunction           Kind = "function"
	KindRelationship       Kind = "relationship"
	KindComputedField      Kind = "computed_field"
	KindRemoteSchema       Kind = "remote_schema"
	KindRemoteRelationship Kind = "remote_relationship"
	KindPermission         Kind = "permission"
	KindEventTrigger       Kind = "event_trigger"
	KindQueryCollection    Kind = "query_collection"
	KindAllowedCollection  Kind = "allowed_collection"
	KindCustomTypes        Kind = "custom_types"
	KindAction             Kind = "action"
	KindActionPermission   Kind = "action_permission"
	KindCronTrigger        Kind = "cron_trigger"
)

// Key names one object of the catalog. Name is made by [domain.JoinKey]; what
// its parts are depends on the kind: of a permission, the table's schema and
// name, the role and the action.
type Key struct {
	Kind Kind   `json:"kind"`
	Name string `json:"key"`
}

func (k Key) String() string { return string(k.Kind) + " " + k.Name }

// stored is the key as the catalog orders it: by kind, then name.
func (k Key) stored() string { return string(k.Kind) + "/" + k.Name }

// table returns the key of the table that an object of a table belongs to, as
// the object's own key names it.
func (k Key) table() (Key, bool) {
	switch k.Kind {
	case KindRelationship, KindComputedField, KindRemoteRelationship, KindPermission:
		return Key{KindTable, firstParts(k.Name, 2)}, true
	}
	return Key{}, false
}

// firstParts cuts a name made by [domain.JoinKey] after n of its parts.
func firstParts(name string, n int) string {
	quoted := false
	for i := range len(name) {
		switch {
		case name[i] == '"':
			quoted = !quoted
		case name[i] == '.' && !quoted:
			if n--; n == 0 {
				return name[:i]
			}
		}
	}
	return name
}

func keyOf(kind Kind, parts ...string) Key { return Key{kind, domain.JoinKey(parts...)} }

// Entry is one object of a catalog, and the position of the change that put
// it there.
type Entry struct {
	Key        Key
	Position   int64
	Definition json.RawMessage
	object     atomic.Pointer[Object]
}

// Object returns the definition decoded; it is decoded when first asked for.
// The stored definition was written by this package, so text that does not
// decode is a fault of the store, and panics.
func (e *Entry) Object() Object {
	if o := e.object.Load(); o != nil {
		return *o
	}
	s, ok := subjects[e.Key.Kind]
	if !ok {
		panic(fmt.Sprintf("catalog holds an object of unknown kind %q", e.Key.Kind))
	}
	o, err := s.decode(e.Definition)
	if err != nil {
		panic(fmt.Sprintf("definition of %s does not decode: %v", e.Key, err))
	}
	e.object.Store(&o)
	return o
}

// Catalog is the metadata as it is at one position of the history. It is
// immutable and safe to share. The zero Catalog is empty.
type Catalog struct{ tree *tree }

// tree guards the one thing that copying a btree changes in its source.
type tree struct {
	mu      sync.Mutex
	entries *btree.Map[string, *Entry]
}

func (t *tree) copy() *btree.Map[string, *Entry] {
	if t == nil {
		return &btree.Map[string, *Entry]{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries.Copy()
}

// Get returns an object's entry, nil when the catalog has no such object.
func (c Catalog) Get(key Key) *Entry {
	if c.tree == nil {
		return nil
	}
	e, _ := c.tree.entries.Get(key.stored())
	return e
}

// Has reports whether the catalog has the object.
func (c Catalog) Has(key Key) bool { return c.Get(key) != nil }

// Len is how many objects there are.
func (c Catalog) Len() int {
	if c.tree == nil {
		return 0
	}
	return c.tree.entries.Len()
}

// All yields every entry, ordered by kind and name.
func (c Catalog) All() iter.Seq[*Entry] { return c.prefixed("") }

// OfKind yields the entries of one kind, ordered by name.
func (c Catalog) OfKind(kind Kind) iter.Seq[*Entry] { return c.prefixed(string(kind) + "/") }

// OfTable yields the entries of a kind whose key begins with a table's name:
// its relationships, computed fields, remote relationships or permissions.
func (c Catalog) OfTable(kind Kind, table domain.QualifiedName) iter.Seq[*Entry] {
	return c.prefixed(string(kind) + "/" + table.Key() + ".")
}

func (c Catalog) prefixed(prefix string) iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		if c.tree == nil {
			return
		}
		c.tree.entries.Ascend(prefix, func(k string, e *Entry) bool {
			return strings.HasPrefix(k, prefix) && yield(e)
		})
	}
}

// lookup returns an object of a known type, ok false when it is not there.
func lookup[T Object](c Catalog, key Key) (object T, ok bool) {
	e := c.Get(key)
	if e == nil {
		return object, false
	}
	object, ok = e.Object().(T)
	return object, ok
}

// objects yields the objects of one kind.
func objects[T Object](entries iter.Seq[*Entry]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for e := range entries {
			if o, ok := e.Object().(T); ok && !yield(o) {
				return
			}
		}
	}
}
