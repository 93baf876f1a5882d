package api

import (
	"net/http"
	"slices"

	"annals/eventstore"
)

// auditObject answers GET /v1/audit/objects/{kind}/{key}/history: the events
// that touched one object.
func (a *API) auditObject(w http.ResponseWriter, r *http.Request) {
	filter, err := objectFilter(r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	a.showPage(w, r, filter)
}

func objectFilter(r *http.Request) (eventstore.Filter, error) {
	kind, err := pathText(r, "kind")
	if err != nil {
		return eventstore.Filter{}, err
	}
	key, err := pathText(r, "key")
	if err != nil {
		return eventstore.Filter{}, err
	}
	others := slices.DeleteFunc(slices.Clone(eventParameters), func(p parameterOf[eventstore.Filter]) bool { return p.name == "object" })
	filter, err := filterOf(r, others)
	filter.Object = &eventstore.Object{Kind: kind, Key: key}
	return filter, err
}
