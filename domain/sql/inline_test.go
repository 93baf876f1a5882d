package sql_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain/sql"
)

func TestValuesStandWhereParametersStood(t *testing.T) {
	values := [][]byte{[]byte("1"), nil, []byte(`it's`), []byte(`a\b`), []byte("$1"), 9: []byte("ten")}
	for _, c := range []struct{ what, statement, want string }{
		{"a value, and null", `SELECT $1::integer, $2`, `SELECT '1'::integer, NULL`},
		{"a quote and a backslash", `($3,$4)`, `('it''s', E'a\\b')`},
		{"two digits", `$10 $1`, `'ten' '1'`},
		{"a value that looks like a parameter", `$5, $1`, `'$1', '1'`},
		{"a name that looks like a parameter", `"$1"."a""$1" = $1`, `"$1"."a""$1" = '1'`},
		{"a text that looks like a parameter", `'$1''$1' || $1`, `'$1''$1' || '1'`},
		{"a type with a $ in its name", `$1::a$1.é$1`, `'1'::a$1.é$1`},
		{"no such parameter", `$11 $0 $`, `$11 $0 $`},
		{"a quote that does not end", `"$1`, `"$1`},
	} {
		require.Equal(t, c.want, sql.Inline(c.statement, values), c.what)
	}
}
