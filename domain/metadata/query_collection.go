package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"annals/domain"
	"annals/domain/graphql"
	"annals/domain/wire"
)

var queryCollectionSubject = subject{
	kind: KindQueryCollection, decode: decodeObject[QueryCollection],
	created: "query_collection_created", changed: "query_collection_changed", dropped: "query_collection_dropped",
}

var queryCollectionOperations = []operation{
	{"create_query_collection", 1, decodeCreateQueryCollection},
	{"drop_query_collection", 1, decodeDropQueryCollection},
	{"add_query_to_collection", 1, decodeAddQueryToCollection},
	{"drop_query_from_collection", 1, decodeDropQueryFromCollection},
}

// QueryCollection is a named list of GraphQL documents. A collection in the
// allow-list says what may be asked.
type QueryCollection struct {
	Name       string                 `json:"name"`
	Definition QueryCollectionQueries `json:"definition"`
	Comment    *string                `json:"comment,omitzero"`
}

// QueryCollectionQueries holds the queries in the order they were given.
type QueryCollectionQueries struct {
	Queries []CollectionQuery `json:"queries"`
}

// CollectionQuery is a GraphQL document, kept as it was written.
type CollectionQuery struct {
	Name  string `json:"name"`
	Query string `json:"query"`
}

func queryCollectionKey(name string) Key { return keyOf(KindQueryCollection, name) }

// Key implements [Object].
func (q QueryCollection) Key() Key { return queryCollectionKey(q.Name) }

func (q QueryCollection) String() string { return "query collection " + q.Name }

func (q QueryCollection) resolve(*resolver) {}

func (q QueryCollection) described() description { return description{"query_collection", q} }

func (q QueryCollection) exported() any { return q }

func (q QueryCollection) renamed(Rename) Object { return q }

func (q QueryCollection) find(query string) int {
	return slices.IndexFunc(q.Definition.Queries, func(c CollectionQuery) bool { return c.Name == query })
}

func decodeCollection(n wire.Node) QueryCollection {
	return QueryCollection{
		Name: n.Field("name").Text(),
		Definition: QueryCollectionQueries{
			Queries: wire.List(n.Field("definition").Field("queries"), decodeCollectionQuery),
		},
		Comment: decodeComment(n),
	}
}

func decodeCollectionQuery(n wire.Node) CollectionQuery {
	return CollectionQuery{Name: n.Field("name").Text(), Query: graphQLText(n.Field("query"))}
}

// graphQLText reads a GraphQL document. It is checked against the grammar
// only: which fields exist depends on who asks.
func graphQLText(n wire.Node) string {
	if n.Present() && n.Kind() != wire.String {
		n.Fail("expecting String for GraphQL query")
		return ""
	}
	text := n.String()
	if !n.Given() {
		return ""
	}
	_, err := graphql.Parse(text)
	switch {
	case errors.Is(err, graphql.ErrTooLong):
		n.Fail("the query has more than %d words and signs, which is all that one may have: split it", graphql.MaxTokens)
	case err != nil:
		n.Fail("parsing the graphql query failed")
	}
	return text
}

// CreateQueryCollection is create_query_collection.
type CreateQueryCollection struct{ QueryCollection }

// Operation implements [Command].
func (CreateQueryCollection) Operation() string { return "create_query_collection" }

func decodeCreateQueryCollection(n wire.Node) Command {
	return CreateQueryCollection{decodeCollection(n)}
}

func (CreateQueryCollection) names(World) Names { return Names{} }

func (CreateQueryCollection) demand() demand { return ownStands }

func (c CreateQueryCollection) decide(w World) ([]Change, error) {
	if w.Catalog.Has(c.Key()) {
		return nil, domain.RefuseAt("$.args.name", domain.AlreadyExists, "query collection with name %q already exists", c.Name)
	}
	if twice := duplicateQueries(c.Definition.Queries); len(twice) > 0 {
		return nil, domain.RefuseAt("$.args.definition.queries", domain.NotSupported,
			"found duplicate query names %s", strings.Join(twice, ", "))
	}
	return put(w.Catalog, c.QueryCollection), nil
}

// duplicateQueries returns the quoted names that come more than once.
func duplicateQueries(queries []CollectionQuery) []string {
	var twice []string
	count := map[string]int{}
	for _, q := range queries {
		if count[q.Name]++; count[q.Name] == 2 {
			twice = append(twice, fmt.Sprintf("%q", q.Name))
		}
	}
	return twice
}

// DropQueryCollection is drop_query_collection. With Cascade the collection
// leaves the allow-list too.
type DropQueryCollection struct {
	Collection string `json:"collection"`
	Cascade    bool   `json:"cascade"`
}

// Operation implements [Command].
func (DropQueryCollection) Operation() string { return "drop_query_collection" }

func decodeDropQueryCollection(n wire.Node) Command {
	return DropQueryCollection{n.Field("collection").Text(), n.Field("cascade").Bool()}
}

func (DropQueryCollection) names(World) Names { return Names{} }

func (DropQueryCollection) demand() demand { return noneNew }

func (c DropQueryCollection) decide(w World) ([]Change, error) {
	if _, err := collectionAt(w, "$.args.collection", c.Collection); err != nil {
		return nil, err
	}
	allowed := allowedCollectionKey(c.Collection)
	if w.Catalog.Has(allowed) && !c.Cascade {
		return nil, domain.RefuseAt("$.args.collection", domain.DependencyError,
			"query collection with name %q is present in allowlist; cannot proceed to drop", c.Collection)
	}
	return append(drop(w.Catalog, allowed), drop(w.Catalog, queryCollectionKey(c.Collection))...), nil
}

// collectionAt returns a collection that a command names at a path.
func collectionAt(w World, path, name string) (QueryCollection, error) {
	q, ok := lookup[QueryCollection](w.Catalog, queryCollectionKey(name))
	if !ok {
		return q, domain.RefuseAt(path, domain.NotExists, "query collection with name %q does not exists", name)
	}
	return q, nil
}

// AddQueryToCollection is add_query_to_collection.
type AddQueryToCollection struct {
	Collection string `json:"collection_name"`
	QueryName  string `json:"query_name"`
	Query      string `json:"query"`
}

// Operation implements [Command].
func (AddQueryToCollection) Operation() string { return "add_query_to_collection" }

func decodeAddQueryToCollection(n wire.Node) Command {
	return AddQueryToCollection{
		Collection: n.Field("collection_name").Text(),
		QueryName:  n.Field("query_name").Text(),
		Query:      graphQLText(n.Field("query")),
	}
}

func (AddQueryToCollection) names(World) Names { return Names{} }

func (AddQueryToCollection) demand() demand { return noneNew }

func (c AddQueryToCollection) decide(w World) ([]Change, error) {
	q, err := collectionAt(w, "$.args", c.Collection)
	if err != nil {
		return nil, err
	}
	if q.find(c.QueryName) >= 0 {
		return nil, refuse(domain.AlreadyExists, "query with name %q already exists in collection %q", c.QueryName, c.Collection)
	}
	queries := slices.Clone(q.Definition.Queries)
	q.Definition.Queries = append(queries, CollectionQuery{c.QueryName, c.Query})
	return put(w.Catalog, q), nil
}

// DropQueryFromCollection is drop_query_from_collection.
type DropQueryFromCollection struct {
	Collection string `json:"collection_name"`
	QueryName  string `json:"query_name"`
}

// Operation implements [Command].
func (DropQueryFromCollection) Operation() string { return "drop_query_from_collection" }

func decodeDropQueryFromCollection(n wire.Node) Command {
	return DropQueryFromCollection{n.Field("collection_name").Text(), n.Field("query_name").Text()}
}

func (DropQueryFromCollection) names(World) Names { return Names{} }

func (DropQueryFromCollection) demand() demand { return noneNew }

func (c DropQueryFromCollection) decide(w World) ([]Change, error) {
	q, err := collectionAt(w, "$.args", c.Collection)
	if err != nil {
		return nil, err
	}
	i := q.find(c.QueryName)
	if i < 0 {
		return nil, refuse(domain.NotFound, "query with name %q not found in collection %q", c.QueryName, c.Collection)
	}
	q.Definition.Queries = slices.Delete(slices.Clone(q.Definition.Queries), i, i+1)
	return put(w.Catalog, q), nil
}
