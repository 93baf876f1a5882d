package translate

import (
	"annals/domain/engine/plan"
	"annals/domain/sql"
)

// call calls a function of the user's; row is the row that is given to it.
func (t *translator) call(c plan.Call, row sql.Node) sql.Node {
	arguments := make([]sql.Node, len(c.Arguments))
	for i, a := range c.Arguments {
		n := argument(a, row)
		if a.Name != "" {
			n = sql.Seq(sql.Name(a.Name), sql.Raw(" => "), n)
		}
		arguments[i] = n
	}
	return sql.Seq(sql.Qualified(c.Function.Schema, c.Function.Name), sql.Paren(sql.List(arguments...)))
}

func argument(a plan.Argument, row sql.Node) sql.Node {
	switch {
	case a.Row:
		return row
	case a.Session:
		to := jsonType
		if a.SQLType != "" {
			to = castType(a.Type, false, a.SQLType)
		}
		return sql.Value{Of: Parameter{Session: true}, Type: to}
	case isSpatial(a.Type) && a.Value.Session == "" && !isJSONString(a.Value.Literal):
		return spatial(a.Type, *a.Value)
	}
	array := len(a.Type) > 0 && a.Type[0] == '_'
	var to sql.Type // empty: PostgreSQL finds it out from the function
	if a.SQLType != "" {
		to = castType(a.Type, false, a.SQLType)
	}
	return parameter(*a.Value, formOf(a.Type, array), to)
}
