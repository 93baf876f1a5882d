package execution

import (
	"annals/domain/engine/join"
	"annals/domain/engine/plan"
)

// joinExplained is what the server of a remote schema would be sent for one row,
// with the names of columns in the places of their values. All rows are asked
// for together, so that a server gets one such field for each different key.
type joinExplained struct {
	// Field is the place in the answer, below the root field.
	Field string `json:"field"`
	remoteExplained
}

// explainedJoins are the joins that a root field leads to.
func explainedJoins(op Operation, f plan.Root) []joinExplained {
	var list []joinExplained
	for _, j := range plan.Joins(f) {
		var key join.Key
		for _, c := range j.Keys {
			key = key.Written([]byte("$" + c.Name))
		}
		var needs join.Needs
		needs.Add(0, j.Call, key)
		for _, request := range needs.Requests(1) {
			asked := callOf(request).request(op)
			list = append(list, joinExplained{j.Name, remoteExplained{asked.Schema, request.Query(), asked.Variables}})
		}
	}
	return list
}
