package join_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"annals/domain"
	"annals/domain/engine/join"
)

// message is message(id: $id) { msg errorMsg }.
func message() *join.Call {
	return &join.Call{
		Remote: "messages", Name: "messageBasic",
		Text: join.Text{}.Lit("message(id: ").Put(0).Lit(") { msg  errorMsg  }"),
	}
}

// text is user(user_id: $id) { gimmeText(text: $name) }.
func text() *join.Call {
	return &join.Call{
		Remote: "users", Name: "author_text", Within: []string{"gimmeText"},
		Text: join.Text{}.Lit("user(user_id: ").Put(0).Lit(") { gimmeText(text: ").Put(1).Lit(")  }"),
	}
}

func keys(literals ...string) (k join.Key) {
	for _, l := range literals {
		k = k.Written([]byte(l))
	}
	return k
}

func refusal(t *testing.T, err error) *domain.Error {
	t.Helper()
	var refused *domain.Error
	require.ErrorAs(t, err, &refused)
	return refused
}

func TestEqualKeysAreAskedOnceAndStandWhereverTheyAreNeeded(t *testing.T) {
	var n join.Needs
	c := message()
	n.Add(2, c, keys("1"))
	n.Add(4, c, keys("2"))
	n.Add(6, c, keys("1"))
	require.Equal(t, 2, n.Len())
	requests := n.Requests(10)
	require.Len(t, requests, 1)
	require.Equal(t, "messages", requests[0].Remote)
	require.Equal(t, "query  { messageBasic__0: message(id: 1) { msg  errorMsg  } messageBasic__1: message(id: 2) { msg  errorMsg  } }", requests[0].Query())
	tolerated, err := n.Take(requests[0], []byte(`{"data":{"messageBasic__1":{"msg":"two"},"messageBasic__0":null}}`))
	require.NoError(t, err)
	require.NoError(t, tolerated)
	require.Equal(t, `[ null, {"msg":"two"}, null]`, string(n.Weave([]byte("[ , , ]"))))
}

func TestEachRemoteIsAskedByItselfInBatches(t *testing.T) {
	var n join.Needs
	m, x := message(), text()
	for i := range 5 {
		n.Add(0, m, keys(fmt.Sprint(i)))
		n.Add(0, x, keys(fmt.Sprint(i)).Quoted([]byte(`a "b"`)))
	}
	var asked []string
	for _, r := range n.Requests(2) {
		asked = append(asked, fmt.Sprint(r.Remote, " ", strings.Count(r.Query(), "__")))
	}
	require.Equal(t, []string{"messages 2", "messages 2", "messages 1", "users 2", "users 2", "users 1"}, asked)
	require.Equal(t, `query  { author_text__1: user(user_id: 0) { gimmeText(text: "a \"b\"")  } }`, n.Requests(1)[5].Query())
}

func TestCallsOfOneRemoteShareItsRequestAndDeclareAVariableOnce(t *testing.T) {
	var n join.Needs
	a, b := message(), message()
	a.Variables = []join.Variable{{Name: "x", Definition: "$x: Int!"}, {Name: "y", Definition: "$y: [Int] = [1]"}}
	b.Variables = a.Variables[:1]
	n.Add(0, a, keys("1"))
	n.Add(0, b, keys("1"))
	requests := n.Requests(10)
	require.Len(t, requests, 1)
	require.True(t, strings.HasPrefix(requests[0].Query(), "query ($x: Int!, $y: [Int] = [1]) { messageBasic__0: "), requests[0].Query())
	require.Contains(t, requests[0].Query(), " messageBasic__1: ")
}

func TestNothingIsAskedForNoRows(t *testing.T) {
	var n join.Needs
	require.Empty(t, n.Requests(1))
	require.Equal(t, "{}", string(n.Weave([]byte("{}"))))
}

func TestTheJoinedValueIsFollowedThroughFieldsAndLists(t *testing.T) {
	for remote, joined := range map[string]string{
		`{"gimmeText":"a"}`:   `"a"`,
		`{"gimmeText": null}`: `null`,
		`null`:                `null`,
		`[{"gimmeText":1}, null, {"gimmeText":{"x" : 2}}]`: `[1,null,{"x" : 2}]`,
		`[[{"gimmeText":[1,2]}],[]]`:                       `[[[1,2]],[]]`,
	} {
		var n join.Needs
		n.Add(0, text(), keys("1", `"a"`))
		_, err := n.Take(n.Requests(1)[0], []byte(`{"data":{"author_text__0":`+remote+`}}`))
		require.NoError(t, err, remote)
		require.Equal(t, joined, string(n.Weave(nil)))
	}
}

func TestAnAnswerThatIsNoneIsRefused(t *testing.T) {
	for body, message := range map[string]string{
		`<html>busy</html>`:              "Remote server response is not valid JSON: jsontext: invalid character '<' at start of value",
		``:                               "Remote server response is not valid JSON: EOF",
		`{} {}`:                          "Remote server response is not valid JSON: more than one value",
		`[]`:                             `"data" field not found in remote response`,
		`{"date":1}`:                     `"data" field not found in remote response`,
		`{"data":null}`:                  `"data" field not found in remote response`,
		`{"data":[]}`:                    `"data" field not found in remote response`,
		`{"data":{}}`:                    "cannnot find value in remote response at path author_text__0",
		`{"data":{"author_text__0":{}}}`: "cannnot find value in remote response at path author_text__0.gimmeText",
		`{"data":{"author_text__0":7}}`:  "cannnot find value in remote response at path author_text__0.gimmeText",
		`{"data":{"author_text__0":[[{"gimmeText":1},"lie"]]}}`:                      "cannnot find value in remote response at path author_text__0.gimmeText",
		`{"data":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`: "Remote server response is not valid JSON: jsontext: exceeded max depth",
	} {
		var n join.Needs
		n.Add(0, text(), keys("1", `"a"`))
		_, err := n.Take(n.Requests(1)[0], []byte(body))
		refused := refusal(t, err)
		require.True(t, strings.HasPrefix(refused.Message, message), "%s: %s", body[:min(len(body), 40)], refused.Message)
		require.Equal(t, "$", refused.Path)
		require.True(t, refused.Fault)
	}
}

func TestErrorsOfTheRemoteFailTheWholeEvenBesideData(t *testing.T) {
	var n join.Needs
	n.Add(0, message(), keys("1"))
	_, err := n.Take(n.Requests(1)[0], []byte(`{"data":{"messageBasic__0":{"msg":"a"}},"errors":[{"message":"no"}],"extensions":{}}`))
	require.Equal(t, &domain.Error{
		Code: domain.Unexpected, Path: "$", Message: "Errors from remote server", Internal: json.RawMessage(`{"errors":[{"message":"no"}]}`),
	}, refusal(t, err))
	_, err = n.Take(n.Requests(1)[0], []byte(`{"data":{"messageBasic__0":{"msg":"a"}},"errors": [ ]}`))
	require.NoError(t, err)
}

func TestACallMayAnswerNullWhereTheRemoteFails(t *testing.T) {
	lenient := func() (*join.Needs, join.Request) {
		n, c := &join.Needs{}, message()
		c.NullOnError = true
		n.Add(0, c, keys("1"))
		n.Add(0, c, keys("2"))
		return n, n.Requests(9)[0]
	}
	n, r := lenient()
	tolerated, err := n.Take(r, []byte(`{"data":{"messageBasic__0":{"msg":"a"},"messageBasic__1":{"msg":null}},"errors":[{"message":"no","path":["messageBasic__1","msg"]}]}`))
	require.NoError(t, err)
	require.Equal(t, "Errors from remote server", refusal(t, tolerated).Message)
	require.Equal(t, `{"msg":"a"}null`, string(n.Weave(nil)))

	for _, body := range []string{`<html>`, `{"data":null}`, `{"errors":[{"message":"where?"}]}`, `{"data":null,"errors":[{"message":"x","path":["messageBasic__1"]}]}`} {
		n, r = lenient()
		tolerated, err = n.Take(r, []byte(body))
		require.NoError(t, err)
		require.Error(t, tolerated)
		require.Equal(t, "nullnull", string(n.Weave(nil)))
	}

	n, r = lenient()
	gone := errors.New("gone")
	tolerated, err = n.Fail(r, gone)
	require.NoError(t, err)
	require.Equal(t, gone, tolerated)
	require.Equal(t, "nullnull", string(n.Weave(nil)))
}

func TestACallThatMustSucceedFailsItsRequestBesideOnesThatNeedNot(t *testing.T) {
	var n join.Needs
	lenient, strict := message(), message()
	lenient.NullOnError = true
	n.Add(0, lenient, keys("1"))
	n.Add(0, strict, keys("1"))
	r := n.Requests(9)[0]
	gone := errors.New("gone")
	_, err := n.Fail(r, gone)
	require.Equal(t, gone, err)
	_, err = n.Take(r, []byte(`{"data":{"messageBasic__0":1,"messageBasic__1":2},"errors":[{"path":["messageBasic__1"]}]}`))
	require.Error(t, err)
	_, err = n.Take(r, []byte(`{"data":{"messageBasic__0":1,"messageBasic__1":2},"errors":[{"path":["messageBasic__0"]}]}`))
	require.NoError(t, err)
	require.Equal(t, "null2", string(n.Weave(nil)))
}

func TestJSONBecomesALiteral(t *testing.T) {
	for raw, literal := range map[string]string{
		`1.50`: `1.50`, `"a\"é\n"`: `"a\"é\n"`, `true`: `true`, `null`: `null`,
		` [1, [], "x"] `:                 `[1,[],"x"]`,
		`{"a": {"b": [1e3]}, "c":false}`: `{a: {b: [1e3]},c: false}`,
	} {
		key, err := keys("first").JSON([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, keys("first", literal), key)
	}
	_, err := join.Key{}.JSON([]byte(`{"a b":1}`))
	require.Equal(t, domain.RefuseAt("$", domain.RemoteSchemaError, `"a b" is not a valid GraphQL name`), refusal(t, err))
	for _, raw := range []string{``, `[1`, `{"a"`, `{"a":`} {
		_, err := join.Key{}.JSON([]byte(raw))
		require.Error(t, err)
	}
}

func TestAnAnswerMayComeInAnyOrderAndSpelling(t *testing.T) {
	var n join.Needs
	n.Add(0, message(), keys("1"))
	n.Add(0, text(), keys("1", `"a"`))
	n.Add(0, text(), keys("2", `"a"`))
	for i, r := range n.Requests(9) {
		body := []string{
			`{"extensions":{"data":[1]}, "data" : { "other":[{}], "message\u0042asic__0" : {"msg":1} , "messageBasic__9":2}}`,
			`{"data":{"author_text__2":{"b":{},"gimmeText":"z"},"author_text__1":{"gimmeText":"y","gimmeText":"again"}},"errors":null}`,
		}[i]
		_, err := n.Take(r, []byte(body))
		require.NoError(t, err)
	}
	require.Equal(t, `{"msg":1}"y""z"`, string(n.Weave(nil)))
}

func TestTextsAreJoinedWithTheirKeys(t *testing.T) {
	var n join.Needs
	c := &join.Call{Remote: "r", Name: "f", Text: join.Text{}.Lit("a(").Concat(join.Text{}.Put(1).Put(0).Lit(",").Put(1)).Lit(")").Lit("!")}
	n.Add(0, c, keys("x", "y"))
	require.Equal(t, "query  { f__0: a(yx,y)! }", n.Requests(1)[0].Query())
}

// Whatever rows there are, however they are batched: the woven answer is the
// one that asking for each row by itself gives.
func TestAWovenAnswerIsThatOfAskingRowByRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := []*join.Call{message(), text(), message()}
		var n join.Needs
		var out, want []byte
		for range rapid.IntRange(0, 60).Draw(t, "rows") {
			c := rapid.SampledFrom(calls).Draw(t, "call")
			key := fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "key"))
			out, want = append(out, "x:"...), append(want, "x:"...)
			n.Add(len(out), c, keys(key, `"k"`))
			want = append(want, valueOf(c, key)...)
		}
		for _, r := range n.Requests(rapid.IntRange(1, 9).Draw(t, "most")) {
			if _, err := n.Take(r, answerTo(r.Query())); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(n.Weave(out)); got != string(want) {
			t.Fatalf("%s\nis not\n%s", got, want)
		}
	})
}

// valueOf is what a remote answers to a key.
func valueOf(c *join.Call, key string) string {
	if len(c.Within) > 0 {
		return `"text of ` + key + `"`
	}
	return `{"msg":"` + key + `"}`
}

// answerTo reads a document of the calls above, as a remote does.
func answerTo(query string) []byte {
	var fields []string
	for _, field := range strings.Split(query, " ") {
		alias, isAlias := strings.CutSuffix(field, ":")
		if !isAlias || !strings.Contains(alias, "__") {
			continue
		}
		_, rest, _ := strings.Cut(query, " "+field)
		_, key, _ := strings.Cut(rest, "id: ")
		value := `{"msg":"` + key[:1] + `"}`
		if strings.HasPrefix(alias, "author") {
			value = `{"gimmeText":"text of ` + key[:1] + `"}`
		}
		fields = append(fields, fmt.Sprintf("%q:%s", alias, value))
	}
	return []byte(`{"data":{` + strings.Join(fields, ",") + `}}`)
}

func TestManyKeysAreToldApartAndHaveTheirOwnValues(t *testing.T) {
	const different = 5000
	var n join.Needs
	calls := []*join.Call{message(), message()}
	for round := range 3 {
		for i := range different {
			for _, c := range calls {
				n.Add(0, c, keys(fmt.Sprint(i*(round+1)%different)))
			}
		}
	}
	require.Equal(t, len(calls)*different, n.Len())
	request := n.Requests(len(calls) * different)[0]
	var answer strings.Builder
	for i := range len(calls) * different {
		fmt.Fprintf(&answer, `,"messageBasic__%d":%d`, i, i/len(calls))
	}
	_, err := n.Take(request, []byte(`{"data":{"messageBasic__":1,"messageBasic__00":1,"other__0":1`+answer.String()+`}}`))
	require.NoError(t, err)
	woven := string(n.Weave(nil))
	var want strings.Builder
	for round := range 3 {
		for i := range different {
			for range calls {
				want.WriteString(fmt.Sprint(i * (round + 1) % different))
			}
		}
	}
	require.Equal(t, want.String(), woven)
}
