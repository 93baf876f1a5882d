package plan

// extent is how much an operation gives to its arguments, fragments counted
// where they are used. Only what is there more than once is bounded by it: a
// text has no more values than words, and each variable may be used once
// however large it is.
type extent struct {
	values int            // of the text, each variable as one
	uses   map[string]int // of variables
	most   int            // how many values there may be
}

const tooManyValues = "with its fragments and variables in their places the operation has more than %d values: ask for it in parts"

// allowed is how many values there may be, and whether there are no more, when
// the variables have these values.
func (e extent) allowed(valueOf func(variable string) value) (most int, ok bool) {
	total, most := e.values, e.most
	for name, n := range e.uses {
		w := valueOf(name).weight()
		total, most = total+n*w, most+w
	}
	return most, total <= most
}

// textOfValue is how many bytes of text count as one value more.
const textOfValue = 64

func weight(text string) int { return 1 + len(text)/textOfValue }

func (v value) weight() int {
	w := weight(v.text)
	for _, item := range v.items {
		w += item.weight()
	}
	for _, m := range v.members {
		w += m.value.weight()
	}
	return w
}
