package metadata

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain/graphql"
)

// RemoteDifference is what a remote server's schema has become since it was
// last read, and what of the catalog no longer fits it.
type RemoteDifference struct {
	graphql.Difference
	// Breaks lists remote relationships that fall, and queries of collections
	// that cannot be answered any more, with the part that they miss.
	Breaks []string `json:"breaks,omitempty"`
}

// putReloaded states that a remote schema is what its server answered now.
func putReloaded(w World, now RemoteSchema) []Change {
	changes := put(w.Catalog, now)
	old, known := lookup[RemoteSchema](w.Catalog, now.Key())
	if len(changes) == 0 || !known {
		return changes
	}
	changes[0].Difference = w.remoteDifference(old, now, changes)
	return changes
}

// remoteDifference is nil where the types stay as they are.
func (w World) remoteDifference(old, now RemoteSchema, changes []Change) *RemoteDifference {
	d, before, after := old.Became(now)
	if d == nil {
		return nil
	}
	next := w.Evolve(0, changes)
	for _, i := range next.newInconsistencies(w) {
		if o := next.Catalog.Get(i.Key); o != nil && i.Key != now.Key() {
			d.Breaks = append(d.Breaks, o.Object().String())
		}
	}
	for q := range objects[QueryCollection](w.Catalog.OfKind(KindQueryCollection)) {
		d.Breaks = append(d.Breaks, w.misfits(q, now.Name, before, after)...)
	}
	slices.Sort(d.Breaks)
	return d
}

// Became compares the types of two readings of a remote schema; the difference
// is nil where there is none, or one of them cannot be read.
func (s RemoteSchema) Became(now RemoteSchema) (d *RemoteDifference, before, after *ast.Schema) {
	before, err := s.Schema()
	if err != nil {
		return nil, nil, nil
	}
	if after, err = now.Schema(); err != nil {
		return nil, nil, nil
	}
	difference := graphql.Compare(before, after)
	if difference.Empty() {
		return nil, before, after
	}
	return &RemoteDifference{Difference: difference}, before, after
}

// misfits lists the queries that could be answered with one schema of a remote
// and cannot be with another: by root fields of its, or fields joined to rows.
func (w World) misfits(q QueryCollection, remote string, before, after *ast.Schema) (list []string) {
	for _, query := range q.Definition.Queries {
		doc, err := graphql.Parse(query.Query)
		if err != nil {
			continue // it could not be asked before either
		}
		fit := graphql.Fit{Doc: doc, Before: before, After: after}
		if at := cmp.Or(fit.Misfit(), w.joinedMisfit(remote, fit)); at != "" {
			list = append(list, fmt.Sprintf("query %s of %s, by %s", query.Name, q, at))
		}
	}
	return list
}
