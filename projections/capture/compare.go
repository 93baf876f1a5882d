package capture

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"annals/domain/metadata"
)

// Problem is what is not as it should be with a database trigger.
type Problem string

// The problems there are.
const (
	Missing  Problem = "missing"  // wanted, and not there
	Altered  Problem = "altered"  // there, and something else than wanted: disabled, on another table, with another text
	Unwanted Problem = "unwanted" // there, and nobody wants it
)

// Difference is one database trigger that is not as wanted.
type Difference struct {
	Function string  `json:"function"`
	Trigger  string  `json:"event_trigger,omitempty"`
	Table    string  `json:"table,omitempty"`
	Problem  Problem `json:"problem"`
}

// repair is a difference, with what is to be done about it.
type repair struct {
	Difference
	wanted *definition // nil: nothing
	// keeps: the trigger itself is right, only its function is not.
	keeps bool
}

// Compare says which database triggers are not as the catalog wants them.
func Compare(ctx context.Context, q Querier, c metadata.Catalog) ([]Difference, error) {
	repairs, err := compareAll(ctx, q, c)
	if err != nil {
		return nil, err
	}
	found := make([]Difference, len(repairs))
	for i, r := range repairs {
		found[i] = r.Difference
	}
	return found, nil
}

func compareAll(ctx context.Context, q Querier, c metadata.Catalog) ([]repair, error) {
	there, err := readInstalled(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	return compare(ctx, q, c.EventTriggers(), there)
}

// compareSome looks at the event triggers of some names, in the catalog or not.
func compareSome(ctx context.Context, q Querier, c metadata.Catalog, names []string) ([]repair, error) {
	functions := make([]string, 0, len(names)*len(operations))
	for _, name := range names {
		for _, op := range operations {
			functions = append(functions, functionName(name, op))
		}
	}
	there, err := readInstalled(ctx, q, functions)
	if err != nil {
		return nil, err
	}
	return compare(ctx, q, func(yield func(metadata.EventTrigger) bool) {
		for _, name := range names {
			if t, ok := c.EventTrigger(name); ok && !yield(t) {
				return
			}
		}
	}, there)
}

func compare(ctx context.Context, q Querier, triggers iter.Seq[metadata.EventTrigger], there map[string]*installed) ([]repair, error) {
	list := slices.Collect(triggers)
	tables, err := readRelations(ctx, q, list)
	if err != nil {
		return nil, err
	}
	var repairs []repair
	for _, t := range list {
		table, ok := tables[t.Table]
		if !ok {
			continue // what was installed went with its table
		}
		for _, d := range wanted(t, table) {
			if r, ok := d.against(there[d.function()]); !ok {
				repairs = append(repairs, r)
			}
			delete(there, d.function())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		repairs = append(repairs, repair{Difference: Difference{Function: name, Problem: Unwanted}})
	}
	slices.SortStableFunc(repairs, func(a, b repair) int { return strings.Compare(a.Function, b.Function) })
	return repairs, nil
}

// against holds what is wanted against what is there.
func (d definition) against(there *installed) (difference repair, same bool) {
	r := repair{Difference: Difference{Function: d.function(), Trigger: d.trigger, Table: d.table.name.String(), Problem: Missing}, wanted: &d}
	if there == nil {
		return r, false
	}
	r.Problem = Altered
	r.keeps = len(there.triggers) == 1 && there.triggers[0] == d.shape()
	if len(there.triggers) == 0 {
		r.Problem = Missing
	}
	return r, r.keeps && there.guarded && there.source == d.body()
}
