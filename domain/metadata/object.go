package metadata

import (
	"encoding/json"

	"annals/domain"
)

// Object is a definition that the catalog holds.
type Object interface {
	// Key is the object's place in the catalog.
	Key() Key
	// String is how messages about dependencies call it, such as
	// "permission author.user.select".
	String() string
	// resolve looks up all that the object needs. See [resolver].
	resolve(r *resolver)
	// described is how lists of inconsistent objects show it.
	described() description
	// exported is the object's entry in the metadata document, by the
	// document's rules of what is left out.
	exported() any
	// renamed is the object after something it names got another name; the
	// object itself when it names no such thing.
	renamed(r Rename) Object
}

// owned is an object that belongs to a table and goes with it.
type owned interface {
	Object
	owner() domain.QualifiedName
}

// description is an object as lists of inconsistent objects show it: the
// type's name in v1.3, and the definition in its form.
type description struct {
	Type       string
	Definition any
}

// subject is what the package must know of one kind of object. The names of
// changes are stored for good: they never change.
type subject struct {
	kind                      Kind
	decode                    func(json.RawMessage) (Object, error)
	created, changed, dropped string
}

// subjectList lists the kinds. The order is the one in which they can be
// resolved: a kind only needs kinds before it.
var subjectList = []subject{
	tableSubject, functionSubject, relationshipSubject, computedFieldSubject,
	remoteSchemaSubject, remoteRelationshipSubject, permissionSubject, eventTriggerSubject,
	queryCollectionSubject, allowedCollectionSubject,
	customTypesSubject, actionSubject, actionPermissionSubject, cronTriggerSubject,
}

var subjects, ranks = indexSubjects(subjectList)

func indexSubjects(list []subject) (map[Kind]subject, map[Kind]int) {
	byKind, rank := map[Kind]subject{}, map[Kind]int{}
	for i, s := range list {
		byKind[s.kind], rank[s.kind] = s, i
	}
	return byKind, rank
}

// decodeObject makes the decoder of a kind from its type.
func decodeObject[T Object](raw json.RawMessage) (Object, error) {
	return decode[T](raw)
}
