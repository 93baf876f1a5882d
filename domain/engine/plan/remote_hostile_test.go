package plan_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
	"annals/domain/engine/plan"
	"annals/domain/engine/schema"
	"annals/domain/engine/schema/schematest"
	"annals/domain/graphql/graphqltest"
	"annals/domain/metadata"
	"annals/domain/wire"
)

// hostileRounds is how many lies are told.
const hostileRounds = 3000

// liar spoils an answer to the introspection query.
type liar struct {
	chance *rand.Rand
	spoils []string // what stands in the place of something else, as JSON
}

func newLiar(seed uint64, answer []byte) *liar {
	return &liar{rand.New(rand.NewPCG(seed, 1)), []string{
		`null`, `true`, `-1.5`, `""`, `"__Type"`, `"query_root"`, `"author"`, `"OBJECT"`, `"INPUT_OBJECT"`, `"NON_NULL"`, `"LIST"`, `"DIRECTIVE"`,
		`"a b"`, `"\u0000"`, `"ß"`, `"true"`, `[]`, `{}`, `{"kind":"OBJECT","name":"Query"}`, `{"kind":"NON_NULL","ofType":null}`, string(answer),
	}}
}

func (l *liar) other() any { return json.RawMessage(l.spoils[l.chance.IntN(len(l.spoils))]) }

// spoil returns the value with something else in one place of it.
func (l *liar) spoil(v any) any {
	if l.chance.IntN(12) == 0 {
		return l.other()
	}
	switch v := v.(type) {
	case map[string]any:
		for name := range v { // any one of them: chance enough
			if l.chance.IntN(10) == 0 {
				delete(v, name)
			} else {
				v[name] = l.spoil(v[name])
			}
			return v
		}
	case []any:
		if len(v) == 0 {
			return v
		}
		i := l.chance.IntN(len(v))
		if l.chance.IntN(6) == 0 {
			return append(v, v[i])
		}
		v[i] = l.spoil(v[i])
		return v
	}
	return l.other()
}

// TestNoLieOfARemoteServerDoesHarm spoils what a server says of its types. It is
// refused in clear words, or everything that is then asked is answered or refused.
func TestNoLieOfARemoteServerDoesHarm(t *testing.T) {
	said := graphqltest.New(`
		type Query { a(x: Box, s: [Size!] = [S], id: ID): Node  f: Found  b: Loop  n: Int }
		type Mutation { m(x: Box!): Loop }
		interface Node { id: ID! }  union Found = Loop | Leaf
		type Loop implements Node { id: ID!  loop(box: Box): Loop!  loops: [[Loop!]!]!  found: Found }
		type Leaf implements Node { id: ID!  at: Moment }
		input Box { box: Box  size: Size = L  list: [[Int!]]  moment: Moment }
		enum Size { S L M }
		scalar Moment`, nil, nil).Introspection()
	w := schematest.World(t, authorsShape, authorsMetadata)
	request, err := metadata.Parse([]byte(`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://r"}}}`))
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	taken := 0
	for i := range hostileRounds {
		var answer any
		require.NoError(t, json.Unmarshal(said, &answer))
		l := newLiar(seed+uint64(i), said)
		for range 1 + l.chance.IntN(3) {
			answer = l.spoil(answer)
		}
		lie, err := json.Marshal(answer)
		require.NoError(t, err)
		d, err := metadata.Decide(w, 9, request.Command.(metadata.AddRemoteSchema).WithIntrospection(lie))
		if err != nil {
			var refusal *domain.Error
			require.ErrorAs(t, err, &refusal, string(lie))
			require.NotEmpty(t, refusal.Message)
			continue
		}
		taken++
		askAll(t, d.World)
	}
	require.Greater(t, taken, hostileRounds/10)
}

// askAll asks for all kinds of things; that nothing panics is the claim.
func askAll(t *testing.T, w metadata.World) {
	t.Helper()
	role := schema.For(w, domain.AdminRole, false)
	require.NotNil(t, role.Introspect().Query)
	for _, query := range []string{
		`{ __schema { types { name fields { name type { name kind ofType { name ofType { name } } } args { name defaultValue } } possibleTypes { name } inputFields { name defaultValue } } } }`,
		`query($b: Box, $id: ID) { a(x: $b, id: $id) { __typename id ... on Loop { loop(box: {box: {list: [[1]]}}) { id } } ... on Found { ... on Leaf { at } } } author { id } }`,
		`{ a(s: [S, L, true], x: {size: S, moment: {x: 1}}) { id } f { ... on Node { id } } b { loops { found { __typename } } } n }`,
		`mutation { m(x: {box: {}}) { id } }`, `{ b }`, `{ n { id } }`, `{ a { id { x } } }`,
	} {
		_, err := plan.Build(role, plan.Request{Query: query, Variables: wire.MustParse(`{"b":{"box":{"box":null}},"id":1}`)})
		var placed domain.Error
		var refusal *domain.Error
		if err != nil && !errors.As(err, &refusal) {
			require.ErrorAs(t, err, &placed, query)
		}
	}
}
