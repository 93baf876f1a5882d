package plan

import (
	"slices"

	"annals/domain"
)

// geoJSON makes sure that a value is a geometry of RFC 7946, with the messages
// of v1.3 for those faults that PostGIS would report worse.
func geoJSON(at place, v value) {
	if v.kind != kindObject {
		expected(at, "Geometry", "Object", v)
		return
	}
	name, ok := v.get("type")
	if !ok || name.kind != kindText {
		at.failCode(domain.ParseFailed, "key \"type\" not found")
		return
	}
	if name.text == "GeometryCollection" {
		geometries, _ := v.get("geometries")
		for _, g := range coordinates(at, geometries) {
			geoJSON(at, g)
		}
		return
	}
	check, ok := shapes(name.text)
	if !ok {
		at.failCode(domain.ParseFailed, "unexpected geometry type: %s", name.text)
		return
	}
	of, ok := v.get("coordinates")
	if !ok {
		at.failCode(domain.ParseFailed, "key \"coordinates\" not found")
		return
	}
	check(at, of)
}

func shapes(name string) (check func(place, value), ok bool) {
	switch name {
	case "Point":
		return position, true
	case "MultiPoint":
		return each(position), true
	case "LineString":
		return lineString, true
	case "MultiLineString":
		return each(lineString), true
	case "Polygon":
		return each(linearRing), true
	case "MultiPolygon":
		return each(each(linearRing)), true
	}
	return nil, false
}

func each(check func(place, value)) func(place, value) {
	return func(at place, v value) {
		for _, item := range coordinates(at, v) {
			check(at, item)
		}
	}
}

func coordinates(at place, v value) []value {
	if v.kind != kindList {
		expected(at, "[]", "Array", v)
	}
	return v.items
}

func position(at place, v value) {
	if len(coordinates(at, v)) < 2 {
		at.failCode(domain.ParseFailed, "A Position needs at least 2 elements")
	}
	for _, n := range v.items {
		number(at, n)
	}
}

func lineString(at place, v value) {
	if len(coordinates(at, v)) < 2 {
		at.failCode(domain.ParseFailed, "A LineString needs at least 2 Positions")
	}
	each(position)(at, v)
}

func linearRing(at place, v value) {
	positions := coordinates(at, v)
	if len(positions) < 4 {
		at.failCode(domain.ParseFailed, "A LinearRing needs at least 4 Positions")
		return
	}
	each(position)(at, v)
	first, last := positions[0].json(), positions[len(positions)-1].json()
	if !slices.Equal(first, last) {
		at.failCode(domain.ParseFailed, "the first and last locations have to be equal for a LinearRing")
	}
}
