package wire

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"annals/domain"
)

func refusal(t *testing.T, err error) *domain.Error {
	t.Helper()
	var e *domain.Error
	require.True(t, errors.As(err, &e), "want a refusal, got %v", err)
	return e
}

func TestTextThatIsNotJSONIsRefusedInTheWordsOfTheWire(t *testing.T) {
	for text, want := range map[string]string{
		"":               "Error in $: not enough input",
		"  \n":           "Error in $: not enough input",
		"{":              "Error in $: Failed reading: not a valid json value",
		"nope":           "Error in $: Failed reading: not a valid json value",
		`{"a":1} x`:      "Error in $: Failed reading: ",
		`{"a":1}{"b":2}`: "Error in $: Failed reading: there is more text after the JSON value",
		"\"\xff\"":       "Error in $: Failed reading: not a valid json value",
		`"\ud800"`:       "Error in $: Failed reading: not a valid json value",
	} {
		_, err := Parse([]byte(text))
		e := refusal(t, err)
		require.Equal(t, domain.InvalidJSON, e.Code, text)
		require.Contains(t, e.Message, want, text)
		require.Equal(t, "$", e.Path)
	}
}

func TestAKeyGivenTwiceIsRefusedWhereItStands(t *testing.T) {
	_, err := Parse([]byte(`{"args":[{"a":1,"\u0061":2}]}`))
	e := refusal(t, err)
	require.Equal(t, domain.ParseFailed, e.Code)
	require.Equal(t, "$.args[0]", e.Path)
	require.Equal(t, `the key "a" is given twice`, e.Message)

	many := `{"x0":0` + strings.Repeat(",\"y\":1", 1)
	for i := range 40 {
		many += `,"x` + strconv.Itoa(i+1) + `":0`
	}
	_, err = Parse([]byte(many + `,"x7":1}`))
	require.Equal(t, `the key "x7" is given twice`, refusal(t, err).Message)
}

func TestNestingHasALimit(t *testing.T) {
	_, err := Parse([]byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)))
	require.NoError(t, err)
	_, err = Parse([]byte(strings.Repeat("[", 1_000_000)))
	require.Equal(t, domain.ParseFailed, refusal(t, err).Code)
}

func TestWhatIsParsedIsWrittenAsItWas(t *testing.T) {
	for _, text := range []string{`{"b":1.50,"a":[true,null,"\u0000x"],"":{}}`, `1e400`, `"é\n"`, `[]`} {
		v, err := Parse([]byte(text))
		require.NoError(t, err)
		again, err := Parse(v.Raw())
		require.NoError(t, err)
		require.Equal(t, v, again)
	}
	v, err := Parse([]byte(` { "b" : 1.50 , "a" : [ ] } `))
	require.NoError(t, err)
	require.Equal(t, `{"b":1.50,"a":[]}`, string(v.Raw()))
}

func TestFaultsSayWhatWasExpectedAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`:                      `parse-failed at $: parsing Object failed, expected Object, but encountered String`,
		`{}`:                       `parse-failed at $: key "name" not found`,
		`{"name":null}`:            `parse-failed at $.name: parsing Text failed, expected String, but encountered Null`,
		`{"name":""}`:              `parse-failed at $.name: empty string not allowed`,
		`{"name":"a\u0000"}`:       `parse-failed at $.name: a NUL character (\u0000) is not allowed here`,
		`{"name":"a","n":"1"}`:     `parse-failed at $.n: parsing Int failed, expected Number, but encountered String`,
		`{"name":"a","n":1.5}`:     `parse-failed at $.n: parsing Int failed, the value is either floating or will cause over or underflow: 1.5`,
		`{"name":"a","l":{}}`:      `parse-failed at $.l: parsing [] failed, expected Array, but encountered Object`,
		`{"name":"a","l":[1,"x"]}`: `parse-failed at $.l[1]: parsing Int failed, expected Number, but encountered String`,
		`{"name":"a","t":{}}`:      `parse-failed at $.t: key "name" not found`,
		`{"name":"a","t":""}`:      `parse-failed at $.t: empty string not allowed`,
	} {
		v, err := Parse([]byte(text))
		require.NoError(t, err)
		_, err = Decode(v, func(n Node) []int {
			n.Field("name").Text()
			n.Optional("n").Int()
			if n.Optional("t").Present() {
				n.Optional("t").Name()
			}
			return List(n.Optional("l"), Node.Int)
		})
		require.EqualError(t, err, want)
	}
}

func TestANameLongerThanPostgresKeepsIsRefused(t *testing.T) {
	decode := func(name string) error {
		_, err := Decode(Value{kind: String, text: name}, Node.Name)
		return err
	}
	require.NoError(t, decode(strings.Repeat("é", 31)+"x"))
	require.EqualError(t, decode(strings.Repeat("é", 32)), "parse-failed at $: a name can be at most 63 bytes long; this one has 64")
}

func TestWholeNumbersMayBeWrittenAsFractions(t *testing.T) {
	for text, want := range map[string]int{"3": 3, "3.0": 3, "3e2": 300, "-1": -1} {
		n, err := Decode(Value{kind: Number, text: text}, Node.Int)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}

func TestPathsQuoteWhatIsNoPlainName(t *testing.T) {
	require.Equal(t, Path("$.args.where.geog_col['$cast'][0]['a b']['1']"),
		Path("$").Key("args").Key("where").Key("geog_col").Key("$cast").Index(0).Key("a b").Key("1"))
}

func TestParsingAnyTextEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\[\]{}",:0-9a-z\\ ]*`)).Draw(t, "text")
		v, err := Parse([]byte(text))
		if err == nil {
			_, err = Parse(v.Raw())
			require.NoError(t, err)
		}
	})
}
