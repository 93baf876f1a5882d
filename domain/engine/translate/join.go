package translate

import (
	"annals/domain/database"
	"annals/domain/engine/plan"
)

// join selects the keys of a remote field, which nothing else in the answer
// has to hold.
func (sel *selection) join(r *relation, j *plan.Join) *Join {
	out := &Join{Call: j.Call}
	for _, c := range j.Keys {
		out.Keys = append(out.Keys, sel.key(r, c))
	}
	for _, c := range j.Present {
		out.Present = append(out.Present, sel.key(r, c))
	}
	return out
}

func (sel *selection) key(r *relation, c *database.Column) Key {
	var f Field
	sel.column(&f, r, &plan.Column{Column: c})
	return Key{f.Column, f.Encoding}
}
