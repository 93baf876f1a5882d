package join

import (
	"slices"
	"strings"
)

// follower reads a value that lies within others, by the names of fields.
// Lists on the way are followed item by item, and stay lists.
type follower struct {
	reader
	within []string
	out    []byte
	// missing is the way to where something else was found; nil: nowhere.
	missing []string
}

// follow reads the next value, which is so many fields down the way.
func (f *follower) follow(down int) error {
	switch kind := f.kind(); {
	case kind == 'n' || down == len(f.within):
		v, err := f.value()
		f.out = append(f.out, v...)
		return err
	case kind == '[':
		return f.list(down)
	case kind == '{':
		return f.object(down)
	}
	f.miss(down)
	return f.skip()
}

func (f *follower) list(down int) error {
	f.out = append(f.out, '[')
	first := true
	err := f.items(func() error {
		if !first {
			f.out = append(f.out, ',')
		}
		first = false
		return f.follow(down)
	})
	f.out = append(f.out, ']')
	return err
}

func (f *follower) object(down int) error {
	found := false
	err := f.members(func(name []byte) error {
		if found || string(name) != f.within[down] {
			return f.skip()
		}
		found = true
		return f.follow(down + 1)
	})
	if !found {
		f.miss(down)
	}
	return err
}

func (f *follower) miss(down int) {
	if f.missing == nil {
		f.missing = f.within[:down+1]
	}
}

// fault is why the value of an alias was not found; nil when it was.
func (f *follower) fault(alias string) error {
	if f.missing == nil {
		return nil
	}
	return noValue(strings.Join(slices.Concat([]string{alias}, f.missing), "."))
}
