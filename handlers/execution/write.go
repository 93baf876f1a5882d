package execution

import (
	"annals/domain/engine/translate"
)

// writer writes the JSON of a step's rows. sets holds them by statement.
type writer struct {
	out  []byte
	sets []*rowset
	// nulls is a row without values, for groups that have no row.
	nulls [][]byte
	// joins is what the answer needs of remote schemas.
	joins joins
}

// root writes a step's answer.
func (w *writer) root(step translate.Step) {
	switch {
	case step.Level != nil:
		w.level(step.Level, nil, nil)
	case step.Group != nil:
		w.group(step.Group, nil, nil)
	}
}

// level writes the rows that belong to the row around; at the root, all.
func (w *writer) level(l *translate.Level, around [][]byte, on []int) {
	set := w.sets[l.Statement]
	i, next := w.rowsOf(set, l.Key, around, on)
	if l.Single {
		w.single(l, set, i)
		return
	}
	w.out = append(w.out, '[')
	for from := i; i != noRow; i = next(i) {
		if i != from {
			w.out = append(w.out, ',')
		}
		w.fields(l.Fields, set.row(i))
	}
	w.out = append(w.out, ']')
}

func (w *writer) single(l *translate.Level, set *rowset, i int) {
	if i == noRow {
		w.null()
		return
	}
	w.fields(l.Fields, set.row(i))
}

// rowsOf returns the first row that belongs to the row around, and what leads to the next.
func (w *writer) rowsOf(set *rowset, key []int, around [][]byte, on []int) (first int, next func(int) int) {
	if len(key) > 0 {
		x := set.indexed(key)
		return x.find(around, on), func(i int) int { return x.next[i] }
	}
	n := set.len()
	next = func(i int) int {
		if i+1 < n {
			return i + 1
		}
		return noRow
	}
	return next(noRow), next
}

func (w *writer) fields(fields []translate.Field, row [][]byte) {
	w.out = append(w.out, '{')
	for i := range fields {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.field(&fields[i], row)
	}
	w.out = append(w.out, '}')
}

func (w *writer) field(f *translate.Field, row [][]byte) {
	w.out = append(w.out, f.Key...)
	switch {
	case f.Constant != "":
		w.out = append(w.out, f.Constant...)
	case f.Object != nil:
		w.object(f.Object, row)
	case f.Level != nil:
		w.level(f.Level, row, f.On)
	case f.Group != nil:
		w.group(f.Group, row, f.On)
	case f.Join != nil:
		w.join(f.Join, row)
	default:
		w.value(row[f.Column], f.Encoding)
	}
}

func (w *writer) object(o *translate.Object, row [][]byte) {
	if o.Present >= 0 && row[o.Present] == nil {
		w.null()
		return
	}
	w.fields(o.Fields, row)
}

// group writes aggregates of the rows that belong to the row around. Its
// levels belong to that row too.
func (w *writer) group(g *translate.Group, around [][]byte, on []int) {
	row := w.groupRow(g, around, on)
	w.out = append(w.out, '{')
	for i := range g.Fields {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		f := &g.Fields[i]
		if f.Level == nil {
			w.field(f, row)
			continue
		}
		w.out = append(w.out, f.Key...)
		w.level(f.Level, around, on)
	}
	w.out = append(w.out, '}')
}

// groupRow is the row of a group; where there is none, a row of nulls.
func (w *writer) groupRow(g *translate.Group, around [][]byte, on []int) [][]byte {
	if g.Statement < 0 {
		return nil
	}
	set := w.sets[g.Statement]
	if i, _ := w.rowsOf(set, g.Key, around, on); i != noRow {
		return set.row(i)
	}
	if w.nulls == nil {
		w.nulls = make([][]byte, maxColumns)
	}
	return w.nulls
}

// maxColumns is how many columns a statement of PostgreSQL can select.
const maxColumns = 1664

func (w *writer) null() { w.out = append(w.out, "null"...) }

func (w *writer) value(v []byte, e translate.Encoding) {
	switch {
	case v == nil && e == translate.EncodeCount:
		w.out = append(w.out, '0')
	case v == nil:
		w.null()
	case e == translate.EncodeString:
		w.out = appendString(w.out, v)
	case e == translate.EncodeBoolean && v[0] == 't':
		w.out = append(w.out, "true"...)
	case e == translate.EncodeBoolean:
		w.out = append(w.out, "false"...)
	case e == translate.EncodeNumber && !isNumber(v):
		w.out = appendString(w.out, v)
	default:
		w.out = append(w.out, v...)
	}
}

// isNumber tells numbers from NaN and Infinity.
func isNumber(v []byte) bool {
	last := v[len(v)-1]
	return last >= '0' && last <= '9'
}

const hexDigits = "0123456789abcdef"

// appendString writes a text as a JSON string. The text is valid UTF-8: it
// comes from a connection whose encoding is that.
func appendString(out, text []byte) []byte {
	out = append(out, '"')
	from := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[from:i]...)
		from = i + 1
		out = appendEscaped(out, c)
	}
	return append(append(out, text[from:]...), '"')
}

func appendEscaped(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
