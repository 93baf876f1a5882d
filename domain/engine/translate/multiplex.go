package translate

import (
	"strconv"

	"annals/domain/sql"
)

// The part of FROM that holds the requests of a multiplexed statement, and the
// statement that is run for each of them.
const (
	requests  sql.Name = "requests"
	ofRequest sql.Name = "of_request"
)

const ordinalColumn = "n"

func valueColumn(i int) string { return "v" + strconv.Itoa(i+1) }

// finished is the statement of a level, in the form that is asked for.
func (t *translator) finished(n sql.Node) Statement {
	if t.options.Multiplexed {
		return multiplexed(n)
	}
	return newStatement(n)
}

// multiplexed is a statement that is run once for each of many requests:
//
//	SELECT of_request.*, requests.n
//	FROM unnest($1::int4[], $2::text[], ...) AS requests(n, v1, ...)
//	CROSS JOIN LATERAL (SELECT ... WHERE t1.id = requests.v1::int4 ...) AS of_request
//
// The last column tells which request a row is of. Each request's rows keep the
// order they have alone: the join goes from request to request, and a subquery that
// is ordered is not taken apart. What has no values is the same for all, and
// stays as it is.
func multiplexed(n sql.Node) Statement {
	plain := newStatement(n)
	if len(plain.Parameters) == 0 {
		return plain
	}
	printed := 0
	body := sql.Instead(n, func(v sql.Value) sql.Node {
		value := sql.Column(requests, valueColumn(printed))
		printed++
		if v.Type == "" {
			return value
		}
		return sql.Cast(value, v.Type)
	})
	names := []sql.Node{sql.Name(ordinalColumn)}
	arrays := []sql.Node{sql.Value{Type: integerType.Array()}}
	for i := range plain.Parameters {
		names = append(names, sql.Name(valueColumn(i)))
		arrays = append(arrays, sql.Value{Type: textArrayType})
	}
	text := sql.Print(sql.Select{
		Columns: []sql.Node{sql.Seq(ofRequest, sql.Raw(".*")), sql.Column(requests, ordinalColumn)},
		From: sql.Seq(
			sql.As(sql.Call("unnest", arrays...), requests), sql.Paren(sql.List(names...)),
			sql.Raw(" CROSS JOIN LATERAL "), sql.As(sql.Paren(body), ofRequest),
		),
	})
	return Statement{SQL: text.SQL, Parameters: plain.Parameters, Many: true}
}

// BindMany returns what a multiplexed statement is given for requests, each of which was
// bound by [Statement.Bind]: their ordinals from 0 on, and an array for each parameter.
func (s Statement) BindMany(bound [][][]byte) [][]byte {
	ordinals := []byte{'{'}
	for i := range bound {
		if i > 0 {
			ordinals = append(ordinals, ',')
		}
		ordinals = strconv.AppendInt(ordinals, int64(i), 10)
	}
	values := [][]byte{append(ordinals, '}')}
	for i := range s.Parameters {
		values = append(values, keyArray(bound, i))
	}
	return values
}
