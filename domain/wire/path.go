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
