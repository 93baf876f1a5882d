package database

import (
	"maps"

	"annals/domain"
)

// overlay is an immutable map made of a few layers: the newest wins. Laying a
// small reading over a large one costs the small one; layers are merged when
// there are many, so that a look-up stays short.
type overlay[V any] struct {
	layers []map[domain.QualifiedName]V
}

const maxLayers = 8

func (o overlay[V]) get(name domain.QualifiedName) V {
	v, _ := o.find(name)
	return v
}

func (o overlay[V]) has(name domain.QualifiedName) bool {
	_, ok := o.find(name)
	return ok
}

func (o overlay[V]) find(name domain.QualifiedName) (V, bool) {
	for i := len(o.layers) - 1; i >= 0; i-- {
		if v, ok := o.layers[i][name]; ok {
			return v, true
		}
	}
	var zero V
	return zero, false
}

// with adds a layer. The layers above the base are merged when they are many,
// and the base with them only when they have grown to a fair part of it: the
// cost of a change stays independent of the size of the base.
func (o overlay[V]) with(layer map[domain.QualifiedName]V) overlay[V] {
	if len(layer) == 0 {
		return o
	}
	layers := append(o.layers[:len(o.layers):len(o.layers)], layer)
	if len(layers) <= maxLayers {
		return overlay[V]{layers}
	}
	base, upper := layers[0], map[domain.QualifiedName]V{}
	for _, l := range layers[1:] {
		maps.Copy(upper, l)
	}
	if len(upper)*2 < len(base) {
		return overlay[V]{[]map[domain.QualifiedName]V{base, upper}}
	}
	merged := maps.Clone(base)
	maps.Copy(merged, upper)
	return overlay[V]{[]map[domain.QualifiedName]V{merged}}
}
