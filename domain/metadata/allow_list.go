package metadata

import (
	"annals/domain"
	"annals/domain/wire"
)

var allowedCollectionSubject = subject{
	kind: KindAllowedCollection, decode: decodeObject[AllowedCollection],
	created: "collection_allowed", changed: "allowed_collection_changed", dropped: "collection_disallowed",
}

var allowListOperations = []operation{
	{"add_collection_to_allowlist", 1, decodeAddCollectionToAllowList},
	{"drop_collection_from_allowlist", 1, decodeDropCollectionFromAllowList},
}

// AllowedCollection is a query collection's membership in the allow-list.
type AllowedCollection struct {
	Collection string `json:"collection"`
}

func allowedCollectionKey(name string) Key { return keyOf(KindAllowedCollection, name) }

// Key implements [Object].
func (a AllowedCollection) Key() Key { return allowedCollectionKey(a.Collection) }

func (a AllowedCollection) String() string { return "allowed collection " + a.Collection }

func (a AllowedCollection) resolve(r *resolver) {
	if !r.stands(queryCollectionKey(a.Collection)) {
		r.fail("query collection with name %q does not exists", a.Collection)
	}
}

func (a AllowedCollection) described() description { return description{"allowed_collection", a} }

func (a AllowedCollection) exported() any { return a }

func (a AllowedCollection) renamed(Rename) Object { return a }

func decodeAllowedCollection(n wire.Node) AllowedCollection {
	return AllowedCollection{n.Field("collection").Text()}
}

// AddCollectionToAllowList is add_collection_to_allowlist.
type AddCollectionToAllowList struct{ AllowedCollection }

// Operation implements [Command].
func (AddCollectionToAllowList) Operation() string { return "add_collection_to_allowlist" }

func decodeAddCollectionToAllowList(n wire.Node) Command {
	return AddCollectionToAllowList{decodeAllowedCollection(n)}
}

func (AddCollectionToAllowList) names(World) Names { return Names{} }

func (AddCollectionToAllowList) demand() demand { return ownStands }

func (c AddCollectionToAllowList) decide(w World) ([]Change, error) {
	if _, err := collectionAt(w, "$.args.collection", c.Collection); err != nil {
		return nil, err
	}
	if w.Catalog.Has(c.Key()) {
		return nil, refuse(domain.AlreadyExists, "collection %q already exists in the allowlist", c.Collection)
	}
	return put(w.Catalog, c.AllowedCollection), nil
}

// DropCollectionFromAllowList is drop_collection_from_allowlist. A collection
// that is not in the list may be dropped from it: nothing happens.
type DropCollectionFromAllowList struct{ AllowedCollection }

// Operation implements [Command].
func (DropCollectionFromAllowList) Operation() string { return "drop_collection_from_allowlist" }

func decodeDropCollectionFromAllowList(n wire.Node) Command {
	return DropCollectionFromAllowList{decodeAllowedCollection(n)}
}

func (DropCollectionFromAllowList) names(World) Names { return Names{} }

func (DropCollectionFromAllowList) demand() demand { return noneNew }

func (c DropCollectionFromAllowList) decide(w World) ([]Change, error) {
	if _, err := collectionAt(w, "$.args.collection", c.Collection); err != nil {
		return nil, err
	}
	return drop(w.Catalog, c.Key()), nil
}
