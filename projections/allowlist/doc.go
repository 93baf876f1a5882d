// Package allowlist keeps the set of operations that roles other than the admin
// may ask for, where the service is told to answer no others.
//
// The set is that of the normal forms of all documents in all query collections
// that the catalog's allow-list names; see package graphql for what a form leaves
// out. It is folded from the catalog, which is folded from the history, so that
// every node has the same set at the same position.
//
// [Live] gives the set for the catalog of the moment. It is made again only when
// the allow-list or one of its collections has changed, and then of those
// collections alone.
package allowlist
