package execution

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"annals/domain"
)

// rowset is the rows of one statement, copied out of the connection's buffer.
// Values are as PostgreSQL prints them; null is nil.
type rowset struct {
	columns  int
	data     []byte
	ends     []int // of each value in data; -1 for null
	values   [][]byte
	affected int64
	byKey    *keyIndex
}

// maxKeptBytes is how large a buffer may be to be kept for the next statement.
const maxKeptBytes = 1 << 20

var rowsets = sync.Pool{New: func() any { return new(rowset) }}

func (s *rowset) free() {
	if cap(s.data) <= maxKeptBytes {
		*s = rowset{data: s.data[:0], ends: s.ends[:0], values: s.values[:0]}
		rowsets.Put(s)
	}
}

// allowance is what an operation may still read.
type allowance struct {
	rows     int
	bytes    int64
	maxRows  int
	maxBytes int64
}

// How much one operation may read where nothing else is said.
const (
	DefaultMaxRows        = 1_000_000
	DefaultMaxBytes int64 = 1 << 30 // as much as one value of PostgreSQL, such as an answer of v1.3, can hold
)

// allowed begins the count of what an operation reads.
func (c *Config) allowed() *allowance {
	rows, bytes := cmp.Or(c.MaxRows, DefaultMaxRows), cmp.Or(c.MaxBytes, DefaultMaxBytes)
	if rows < 0 {
		rows = math.MaxInt
	}
	if bytes < 0 {
		bytes = math.MaxInt64
	}
	return &allowance{rows, bytes, rows, bytes}
}

// take counts one row of so many bytes. Nil allows any number.
func (a *allowance) take(bytes int) error {
	if a == nil {
		return nil
	}
	a.rows--
	a.bytes -= int64(bytes)
	switch {
	case a.rows < 0:
		return domain.RefuseAt("$", domain.NotSupported,
			"the operation reads more than %d rows: ask for fewer at a time with limit, or raise --max-rows", a.maxRows)
	case a.bytes < 0:
		return domain.RefuseAt("$", domain.NotSupported,
			"the rows that the operation reads have more than %d bytes: ask for fewer at a time with limit, or raise --max-result-size", a.maxBytes)
	}
	return nil
}

// drain reads a statement's rows to their end. Those that are too many are not kept.
func drain(r *pgconn.ResultReader, a *allowance) (*rowset, error) {
	s := rowsets.Get().(*rowset)
	for r.NextRow() {
		before, row := len(s.data), r.Values()
		s.columns = len(row)
		for _, value := range row {
			if value == nil {
				s.ends = append(s.ends, -1)
				continue
			}
			s.data = append(s.data, value...)
			s.ends = append(s.ends, len(s.data))
		}
		if err := a.take(len(s.data) - before); err != nil {
			s.free()
			_, closing := r.Close()
			return nil, errors.Join(err, closing)
		}
	}
	tag, err := r.Close()
	if err != nil {
		s.free()
		return nil, err
	}
	s.affected = tag.RowsAffected()
	s.cut()
	return s, nil
}

// cut makes the values of the data. Where all of them are empty texts there is
// no data yet, and a part of what is nil would be null.
func (s *rowset) cut() {
	if s.data == nil {
		s.data = []byte{}
	}
	from := 0
	for _, end := range s.ends {
		if end < 0 {
			s.values = append(s.values, nil)
			continue
		}
		s.values = append(s.values, s.data[from:end:end])
		from = end
	}
}

func (s *rowset) len() int {
	if s.columns == 0 {
		return 0
	}
	return len(s.values) / s.columns
}

func (s *rowset) row(i int) [][]byte { return s.values[i*s.columns : (i+1)*s.columns] }

// rows lists all rows.
func (s *rowset) rows() [][][]byte {
	rows := make([][][]byte, s.len())
	for i := range rows {
		rows[i] = s.row(i)
	}
	return rows
}

// keyIndex finds the rows that belong to a row around by its key: the first,
// and after each row the next, in the order they came.
type keyIndex struct {
	first, last map[string]int
	next        []int
	scratch     []byte
}

const noRow = -1

// indexed returns the set's index over key columns; it is made once.
func (s *rowset) indexed(key []int) *keyIndex {
	if s.byKey != nil {
		return s.byKey
	}
	n := s.len()
	x := &keyIndex{first: make(map[string]int), last: make(map[string]int), next: make([]int, n)}
	for i := range n {
		x.next[i] = noRow
		text, ok := x.key(s.row(i), key)
		if !ok {
			continue
		}
		if last, ok := x.last[string(text)]; ok {
			x.next[last] = i
		} else {
			x.first[string(text)] = i
		}
		x.last[string(text)] = i
	}
	s.byKey = x
	return x
}

// find returns the first row of a key.
func (x *keyIndex) find(row [][]byte, columns []int) int {
	text, ok := x.key(row, columns)
	if !ok {
		return noRow
	}
	if i, ok := x.first[string(text)]; ok {
		return i
	}
	return noRow
}

// key writes a key as one text. A key with a null in it joins nothing.
func (x *keyIndex) key(row [][]byte, columns []int) ([]byte, bool) {
	if len(columns) == 1 {
		return row[columns[0]], row[columns[0]] != nil
	}
	x.scratch = x.scratch[:0]
	for _, c := range columns {
		if row[c] == nil {
			return nil, false
		}
		x.scratch = binary.AppendUvarint(x.scratch, uint64(len(row[c])))
		x.scratch = append(x.scratch, row[c]...)
	}
	return x.scratch, true
}
