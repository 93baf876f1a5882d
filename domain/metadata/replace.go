package metadata

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/wire"
)

// ReplaceMetadata is replace_metadata: the catalog becomes what a document
// says. Only the difference is recorded: an object that stays as it is gets no
// change. Cron triggers that are not part of documents stay.
type ReplaceMetadata struct {
	document json.RawMessage
	objects  []Object
}

// Operation implements [Command].
func (ReplaceMetadata) Operation() string { return "replace_metadata" }

// MarshalJSON keeps the document, as given, as the event's args.
func (c ReplaceMetadata) MarshalJSON() ([]byte, error) { return c.document, nil }

// decodeReplaceMetadata also takes the arguments of clients of the next
// generation, {"metadata": document, ...}.
func decodeReplaceMetadata(n wire.Node) Command {
	if inner := n.Optional("metadata"); inner.Present() {
		n = inner
	}
	return ReplaceMetadata{n.Raw(), decodeDocument(n)}
}

func (c ReplaceMetadata) names(World) Names {
	catalog, _ := catalogOf(c.objects)
	return catalog.Names()
}

func (ReplaceMetadata) demand() demand { return allStand }

func (c ReplaceMetadata) decide(w World) ([]Change, error) {
	wanted, twice := catalogOf(c.objects)
	if twice != nil {
		return nil, twiceDeclared(twice)
	}
	for e := range wanted.OfKind(KindCronTrigger) {
		if old, ok := lookup[CronTrigger](w.Catalog, e.Key); ok && !old.IncludeInMetadata {
			return nil, domain.RefuseAt("$.args.cron_triggers", domain.AlreadyExists,
				"cron trigger with name: %s already exists, and is not part of the metadata document (include_in_metadata is false)", old.Name)
		}
	}
	return Difference(w.Catalog, withKept(w.Catalog, wanted)), nil
}

// RemoteSchemas returns the remote schemas that the document declares and the
// catalog does not hold so: their servers have to be asked for their schema.
func (c ReplaceMetadata) RemoteSchemas(w World) []RemoteSchema {
	var list []RemoteSchema
	for _, o := range c.objects {
		if r, ok := o.(RemoteSchema); ok {
			if old, known := lookup[RemoteSchema](w.Catalog, r.Key()); !known || !old.SameDefinition(r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// WithRemoteSchemas returns the command with the remote schemas, given with
// their introspection, in place of those of the same names.
func (c ReplaceMetadata) WithRemoteSchemas(w World, fetched []RemoteSchema) ReplaceMetadata {
	byKey := map[Key]RemoteSchema{}
	for r := range objects[RemoteSchema](w.Catalog.OfKind(KindRemoteSchema)) {
		byKey[r.Key()] = r
	}
	for _, r := range fetched {
		byKey[r.Key()] = r
	}
	list := make([]Object, len(c.objects))
	for i, o := range c.objects {
		if r, ok := byKey[o.Key()]; ok {
			o = r
		}
		list[i] = o
	}
	c.objects = list
	return c
}

// catalogOf makes a catalog of a document's objects; twice lists the keys of
// those declared more than once.
func catalogOf(list []Object) (c Catalog, twice []Object) {
	f := FoldFrom(Catalog{})
	seen := make(map[Key]bool, len(list))
	for _, o := range list {
		key := o.Key()
		if seen[key] {
			twice = append(twice, o)
		}
		seen[key] = true
		f.Put(key, 0, encode(o))
	}
	return f.Catalog(), twice
}

// withKept adds to a wanted catalog what a document never speaks of.
func withKept(current, wanted Catalog) Catalog {
	f := FoldFrom(wanted)
	for e := range current.OfKind(KindCronTrigger) {
		if t, ok := e.Object().(CronTrigger); ok && !t.IncludeInMetadata {
			f.Put(e.Key, e.Position, e.Definition)
		}
	}
	return f.Catalog()
}

func twiceDeclared(twice []Object) error {
	var names []string
	for _, o := range twice {
		names = append(names, strconv.Quote(o.String()))
	}
	path := "$.args"
	if twice[0].Key().Kind == KindTable {
		path = "$.args.tables"
	}
	return domain.RefuseAt(path, domain.AlreadyExists, "multiple declarations exist for the following objects : [%s]", strings.Join(names, ", "))
}

// ClearMetadata is clear_metadata: replace_metadata with an empty document.
type ClearMetadata struct{}

// Operation implements [Command].
func (ClearMetadata) Operation() string { return "clear_metadata" }

func (ClearMetadata) names(World) Names { return Names{} }

func (ClearMetadata) demand() demand { return allStand }

func (ClearMetadata) decide(w World) ([]Change, error) {
	return Difference(w.Catalog, withKept(w.Catalog, Catalog{})), nil
}

// DropInconsistentMetadata is drop_inconsistent_metadata: what cannot stand
// goes, and then what cannot stand without it.
type DropInconsistentMetadata struct{}

// Operation implements [Command].
func (DropInconsistentMetadata) Operation() string { return "drop_inconsistent_metadata" }

func (DropInconsistentMetadata) names(World) Names { return Names{} }

func (DropInconsistentMetadata) demand() demand { return allStand }

func (DropInconsistentMetadata) decide(w World) ([]Change, error) {
	var changes []Change
	for w.Standing.Inconsistent() > 0 {
		var round []Change
		for _, i := range w.Inconsistencies() {
			round = append(round, drop(w.Catalog, i.Key)...)
		}
		changes = append(changes, round...)
		w = w.Evolve(0, round)
	}
	return changes, nil
}

// ReloadMetadata is reload_metadata: the database's shape is read again.
type ReloadMetadata struct {
	RemoteSchemas bool `json:"reload_remote_schemas"`
}

// Operation implements [Command].
func (ReloadMetadata) Operation() string { return "reload_metadata" }

// decodeReloadMetadata takes anything that is no object as no arguments.
func decodeReloadMetadata(n wire.Node) Command {
	if n.Kind() != wire.Object {
		return ReloadMetadata{}
	}
	flag := n.Optional("reload_remote_schemas")
	return ReloadMetadata{flag.Present() && flag.Kind() == wire.Bool && flag.Bool()}
}

// Remotes returns the remote schemas whose servers are to be asked again.
func (c ReloadMetadata) Remotes(w World) []RemoteSchema {
	if !c.RemoteSchemas {
		return nil
	}
	return slices.Collect(objects[RemoteSchema](w.Catalog.OfKind(KindRemoteSchema)))
}

// WithIntrospections returns the decision to take the remote schemas as their
// servers have them now. What does not fit them any more falls.
func (c ReloadMetadata) WithIntrospections(fetched []RemoteSchema) Decider {
	return reloadFetched{c, fetched}
}

type reloadFetched struct {
	ReloadMetadata
	fetched []RemoteSchema
}

func (reloadFetched) names(World) Names { return Names{} }

func (reloadFetched) demand() demand { return anyhow }

func (c reloadFetched) decide(w World) ([]Change, error) {
	var changes []Change
	for _, r := range c.fetched {
		if old, known := lookup[RemoteSchema](w.Catalog, r.Key()); known && old.SameDefinition(r) {
			changes = append(changes, putReloaded(w, r)...)
		}
	}
	return changes, nil
}

// GetInconsistentMetadata is get_inconsistent_metadata.
type GetInconsistentMetadata struct{}

// Operation implements [Command].
func (GetInconsistentMetadata) Operation() string { return "get_inconsistent_metadata" }

// Answer is the call's body.
func (GetInconsistentMetadata) Answer(w World) json.RawMessage {
	list := w.Inconsistencies()
	return encode(struct {
		Consistent bool            `json:"is_consistent"`
		Objects    []Inconsistency `json:"inconsistent_objects"`
	}{len(list) == 0, list})
}

// DumpInternalState is dump_internal_state: what this node holds in memory,
// for its developers. The shape of the answer may change.
type DumpInternalState struct{}

// Operation implements [Command].
func (DumpInternalState) Operation() string { return "dump_internal_state" }

// Answer is the call's body: every object with its needs.
func (DumpInternalState) Answer(w World) json.RawMessage {
	type object struct {
		Definition json.RawMessage `json:"definition"`
		Position   int64           `json:"position"`
		Needs      []Need          `json:"needs"`
		Reason     string          `json:"reason,omitzero"`
	}
	dump := map[string]object{}
	for e := range w.Catalog.All() {
		st := w.Standing.index.get(e.Key)
		dump[e.Key.String()] = object{e.Definition, e.Position, st.needs, st.reason}
	}
	return encode(dump)
}
