package metadata

import (
	"testing"

	"annals/domain"
	"annals/domain/database"
)

// but returns a function changed in some way.
func but(f *database.Function, change func(*database.Function)) *database.Function {
	change(f)
	return f
}

func TestTrackFunctionTakesEveryFormOfItsArguments(t *testing.T) {
	for body, holds := range map[string]string{
		`{"type":"track_function","args":"search"}`:                                                                   `{"function":{"schema":"public","name":"search"}}`,
		`{"type":"track_function","args":{"schema":"public","name":"search"}}`:                                        `{"function":{"schema":"public","name":"search"}}`,
		`{"type":"track_function","version":2,"args":{"function":"search","configuration":{}}}`:                       `{"function":{"schema":"public","name":"search"}}`,
		`{"type":"pg_track_function","args":{"function":"search","configuration":{"session_argument":"who"}}}`:        `{"function":{"schema":"public","name":"search"},"configuration":{"session_argument":"who"}}`,
		`{"type":"track_function","version":2,"args":{"function":"write","configuration":{"exposed_as":"mutation"}}}`: `{"function":{"schema":"public","name":"write"},"configuration":{"exposed_as":"mutation"}}`,
	} {
		t.Run(body, func(t *testing.T) {
			search := but(stableFunction("search", "author"), func(f *database.Function) {
				f.Arguments = append(f.Arguments, database.Argument{Name: "who", Type: "json"})
			})
			write := but(stableFunction("write", "author"), func(f *database.Function) { f.Volatility = database.Volatile })
			o := given(t, shapeOf(append(authors(), search, write)...), tracked("author")...).when(body).accepted()
			o.holds(o.decision.Changes[0].Key(), holds)
		})
	}
}

func TestTrackFunctionRefuses(t *testing.T) {
	const cannot = `in function "f": the function "f" cannot be tracked because `
	for name, c := range map[string]struct {
		function      func(*database.Function)
		configuration string
		message       string
	}{
		"a variadic function":        {func(f *database.Function) { f.Variadic = true }, `{}`, cannot + `function with "VARIADIC" parameters are not supported`},
		"OUT arguments":              {func(f *database.Function) { f.HasOutArguments = true }, `{}`, cannot + `the function has OUT or TABLE arguments; only input arguments are supported`},
		"one row":                    {func(f *database.Function) { f.ReturnsSet = false }, `{}`, cannot + `the function does not return a SETOF`},
		"a type that is no table":    {func(f *database.Function) { f.ReturnsTable = nil }, `{}`, cannot + `the function does not return a SETOF table`},
		"a stable mutation":          {func(*database.Function) {}, `{"exposed_as":"mutation"}`, cannot + `the function was requested to be exposed as a mutation, but is not marked VOLATILE. Maybe the function was given the wrong volatility when it was defined?`},
		"an argument GraphQL cannot": {func(f *database.Function) { f.Arguments[0].Name = "a b" }, `{}`, cannot + `the function arguments a b are not in compliance with GraphQL spec`},
		"no such session argument":   {func(*database.Function) {}, `{"session_argument":"who"}`, cannot + `given session argument "who" not the input argument of the function`},
		"a session argument of text": {func(*database.Function) {}, `{"session_argument":"search"}`, cannot + `given session argument "search" is not of type json`},
		"rows of an untracked table": {func(f *database.Function) {
			f.ReturnsTable = new(domain.QualifiedName)
			*f.ReturnsTable = named("article")
		}, `{}`, `in function "f": table "article" is not tracked`},
		"several reasons": {func(f *database.Function) { f.ReturnsSet, f.ReturnKind, f.ReturnsTable = false, 'b', nil }, `{}`,
			"in function \"f\": the function \"f\" cannot be tracked for the following reasons:\n" +
				"  • the function does not return a \"COMPOSITE\" type\n  • the function does not return a SETOF\n  • the function does not return a SETOF table\n"},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shapeOf(append(authors(), but(stableFunction("f", "author"), c.function))...), tracked("author")...).
				when(`{"type":"track_function","version":2,"args":{"function":"f","configuration":`+c.configuration+`}}`).
				refuses(domain.ConstraintViolation, "$.args", c.message)
		})
	}
}

func TestTrackFunctionRefusesNames(t *testing.T) {
	shape := shapeOf(append(authors(), stableFunction("search", "author"), stableFunction("article", "author"),
		stableFunction("over", "author"), stableFunction("over", "author"))...)
	known := append(tracked("author", "article"), Function{Name: named("search")})
	for name, c := range map[string]struct {
		function string
		code     domain.Code
		message  string
	}{
		"a function that is tracked":   {"search", domain.AlreadyTracked, `function already tracked : "search"`},
		"the name of a table":          {"article", domain.NotSupported, `table with name "article" already exists`},
		"what is not there":            {"f", domain.ConstraintViolation, `in function "f": no such function exists in postgres : "f"`},
		"a name that stands for three": {"over", domain.ConstraintViolation, `in function "over": function "over" is overloaded. Overloaded functions are not supported`},
	} {
		t.Run(name, func(t *testing.T) {
			given(t, shape, known...).when(`{"type":"track_function","args":"`+c.function+`"}`).refuses(c.code, "$.args", c.message)
		})
	}
	given(t, shape, known...).when(`{"type":"track_function","version":2,"args":{"function":"over","configuration":{"exposed_as":"both"}}}`).
		refuses(domain.ParseFailed, "$.configuration.exposed_as", `expected one of query, mutation, but found "both"`)
}

func TestUntrackFunction(t *testing.T) {
	s := given(t, shapeOf(append(authors(), stableFunction("search", "author"))...), append(tracked("author"), Function{Name: named("search")})...)
	s.when(`{"type":"untrack_function","args":"search"}`).changes("function_untracked public.search")
	s.when(`{"type":"pg_untrack_function","args":{"source":"default","function":{"name":"search"}}}`).changes("function_untracked public.search")
	s.when(`{"type":"untrack_function","args":"f"}`).refuses(domain.NotExists, "$.args", `function not found in cache "f"`)
}

func TestFunctionsOfTheDocumentDifferByItsVersion(t *testing.T) {
	const old = `{"type":"replace_metadata","args":{"tables":[{"table":"author"}],"functions":["search"]}}`
	const new = `{"type":"replace_metadata","args":{"version":2,"tables":[{"table":"author"}],"functions":[{"function":"search"}]}}`
	for _, body := range []string{old, new} {
		given(t, shapeOf(append(authors(), stableFunction("search", "author"))...)).when(body).
			changes("function_tracked public.search", "table_tracked public.author")
	}
}
