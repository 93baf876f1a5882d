package plan

// allOf is true when all conditions are; nil, which always is, is left out.
func allOf(conditions ...Condition) Condition {
	var all All
	for _, c := range conditions {
		switch c := c.(type) {
		case nil:
		case All:
			all = append(all, c...)
		default:
			all = append(all, c)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// anyOf is true when one of the conditions is: of none, never.
func anyOf(conditions ...Condition) Condition {
	for _, c := range conditions {
		if c == nil {
			return nil
		}
	}
	switch len(conditions) {
	case 0:
		return Never{}
	case 1:
		return conditions[0]
	}
	return Any(conditions)
}

func not(c Condition) Condition {
	switch c.(type) {
	case nil:
		return Never{}
	case Never:
		return nil
	}
	return Not{c}
}
