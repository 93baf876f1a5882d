package allowlist

import (
	"sync"

	"annals/domain/graphql"
	"annals/domain/metadata"
)

// Limits of what is remembered of the texts that were found allowed: a client
// sends the same ones again and again, and they need not be parsed each time.
const (
	MaxKnownTexts     = 4000
	MaxKnownTextBytes = 8 << 10
)

// Set is a set of allowed operations. It is safe for concurrent use.
type Set struct {
	// collections holds the forms of each query collection by its entry in the
	// catalog: another entry means that the collection was changed.
	collections map[*metadata.Entry][]graphql.Form
	forms       map[graphql.Form]struct{}

	mu    sync.RWMutex
	known map[string]struct{}
}

func newSet() *Set {
	return &Set{
		collections: make(map[*metadata.Entry][]graphql.Form),
		forms:       make(map[graphql.Form]struct{}),
		known:       make(map[string]struct{}),
	}
}

// New makes the set of a world's allow-list.
func New(w metadata.World) *Set { return newSet().following(w) }

// following makes the set of the world that came after s's, which is s itself
// where no allowed collection is another.
func (s *Set) following(w metadata.World) *Set {
	next := newSet()
	same := true
	for entry, queries := range w.AllowedCollections() {
		forms, ok := s.collections[entry]
		if !ok {
			forms, same = formsOf(queries), false
		}
		next.collections[entry] = forms
		for _, f := range forms {
			next.forms[f] = struct{}{}
		}
	}
	if same && len(next.collections) == len(s.collections) {
		return s
	}
	return next
}

// formsOf leaves out what does not parse: no request can ask for it.
func formsOf(q metadata.QueryCollection) []graphql.Form {
	var forms []graphql.Form
	for _, query := range q.Definition.Queries {
		if f, err := graphql.FormOf(query.Query); err == nil {
			forms = append(forms, f)
		}
	}
	return forms
}

// Allows reports whether a document is in the set. It fails on text that is no
// document.
func (s *Set) Allows(text string) (bool, error) {
	if s.knows(text) {
		return true, nil
	}
	f, err := graphql.FormOf(text)
	if err != nil {
		return false, err
	}
	if _, ok := s.forms[f]; !ok {
		return false, nil
	}
	s.remember(text)
	return true, nil
}

func (s *Set) knows(text string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.known[text]
	return ok
}

// remember keeps a text; where there are too many, any other gives way.
func (s *Set) remember(text string) {
	if len(text) > MaxKnownTextBytes {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other := range s.known {
		if len(s.known) < MaxKnownTexts {
			break
		}
		delete(s.known, other)
	}
	s.known[text] = struct{}{}
}
