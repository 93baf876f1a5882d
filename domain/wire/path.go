package wire

import "strconv"

// Path is the place of a value in a request, such as $.args.headers[0]. A key
// that is no plain name is written ['so'].
type Path string

// Key returns the path of a member.
func (p Path) Key(name string) Path {
	if isPlain(name) {
		return p + "." + Path(name)
	}
	return p + "['" + Path(name) + "']"
}

// Index returns the path of an item.
func (p Path) Index(i int) Path { return p + "[" + Path(strconv.Itoa(i)) + "]" }

// step leads from an object or array to a value in it: its name, or the place of an
// item.
type step struct {
	name string
	item int // 0: a member; else one more than the item's index, or nowhere
}

// nowhere is a step that leads to where it begins.
const nowhere = -1

// to returns the path that a step leads to.
func (p Path) to(s step) Path {
	switch s.item {
	case nowhere:
		return p
	case 0:
		return p.Key(s.name)
	}
	return p.Index(s.item - 1)
}

func isPlain(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		first := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !first && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}
