package metadata

import (
	"annals/domain"
)

// demand is how consistent a command must leave the catalog. v1.3 asks for
// different things, and answers each in its own way.
type demand int

const (
	// noneNew: nothing that stood may fall; a fault of the server if it does.
	noneNew demand = iota
	// ownStands: what the command puts must stand, and nothing else may fall.
	ownStands
	// allStand: everything must stand.
	allStand
	// anyhow: what falls, falls.
	anyhow
)

// Decision is what a command does: its changes, and the world after them.
type Decision struct {
	Changes []Change
	World   World
	// reshaped: tables may look different that no change names.
	reshaped bool
}

// NamesOf returns the tables and functions that a command's decision looks at.
func NamesOf(w World, c Command) Names {
	if d, ok := c.(Decider); ok {
		return d.names(w)
	}
	return Names{}
}

// Decide says what a command changes in a world, if it were recorded at the
// position. It refuses with a [domain.Error]; the world is left as it is.
func Decide(w World, position int64, c Decider) (Decision, error) {
	changes, err := c.decide(w)
	if err != nil {
		return Decision{}, err
	}
	return settle(w, position, changes, c.demand())
}

// settle applies changes and asks for the consistency that is demanded.
func settle(w World, position int64, changes []Change, d demand) (Decision, error) {
	next := w.Evolve(position, changes)
	if err := check(w, next, changes, d); err != nil {
		return Decision{}, err
	}
	return Decision{Changes: changes, World: next}, nil
}

func check(before, after World, changes []Change, d demand) error {
	if err := after.refuseClashes(changes); err != nil {
		return err
	}
	if after.Standing.Inconsistent() == 0 {
		return nil
	}
	switch d {
	case anyhow:
		return nil
	case allStand:
		return inconsistent(after.Inconsistencies(), "cannot continue due to inconsistent metadata", false)
	case ownStands:
		if own := ownInconsistencies(after, changes); len(own) > 0 {
			return notStanding(own)
		}
		return inconsistent(after.newInconsistencies(before), "cannot continue due to new inconsistent metadata", false)
	}
	return inconsistent(after.newInconsistencies(before), "cannot continue due to newly found inconsistent metadata", true)
}

func ownInconsistencies(w World, changes []Change) []Inconsistency {
	var own []Inconsistency
	for _, c := range changes {
		if st := w.Standing.index.get(c.Key()); st != nil && st.reason != "" {
			own = append(own, w.inconsistency(st))
		}
	}
	return own
}

func notStanding(own []Inconsistency) error {
	text := ""
	for i, o := range own {
		if i > 0 {
			text += ", "
		}
		text += o.Reason
	}
	e := refuse(domain.ConstraintViolation, "%s", text)
	e.Internal = encode(own)
	return e
}

func inconsistent(list []Inconsistency, text string, fault bool) error {
	if len(list) == 0 {
		return nil
	}
	e := refuse(domain.Unexpected, "%s", text)
	e.Internal, e.Fault = encode(list), fault
	return e
}
