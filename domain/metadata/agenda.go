package metadata

import (
	"iter"

	"github.com/tidwall/btree"
)

// agenda is the objects still to be resolved, by rank of their kind. Each is
// taken once; a kind needs only earlier kinds, so nothing taken comes again.
type agenda struct {
	waiting btree.Map[agendaKey, Key]
	seen    map[Key]struct{}
}

type agendaKey string

func newAgenda(keys []Key) *agenda {
	a := &agenda{seen: map[Key]struct{}{}}
	for _, k := range keys {
		a.add(k)
	}
	return a
}

func (a *agenda) add(key Key) {
	if _, ok := a.seen[key]; ok {
		return
	}
	a.seen[key] = struct{}{}
	a.waiting.Set(agendaKey(string(rune('a'+ranks[key.Kind]))+key.Name), key)
}

func (a *agenda) addAll(keys iter.Seq[Key]) {
	for k := range keys {
		a.add(k)
	}
}

func (a *agenda) take() (Key, bool) {
	_, key, ok := a.waiting.PopMin()
	return key, ok
}
