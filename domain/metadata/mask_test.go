package metadata

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValuesOfLiteralHeadersAreHidden(t *testing.T) {
	for raw, want := range map[string]string{
		`{"headers":[{"name":"x-a","value":"secret"},{"name":"b","value_from_env":"B"}]}`:    `{"headers":[{"name":"x-a","value":"***"},{"name":"b","value_from_env":"B"}]}`,
		`{"header_conf": [ {"value" : "a\"b\\", "name":"x"} ], "value":"v"}`:                 `{"header_conf": [ {"value" : "***", "name":"x"} ], "value":"v"}`,
		`[{"type":"x","definition":{"definition":{"headers":[{"name":"a","value":""}]}}}]`:   `[{"type":"x","definition":{"definition":{"headers":[{"name":"a","value":"***"}]}}}]`,
		`{"headers":{"value":"v"},"enums":[{"value":"RED"}],"forward_client_headers":false}`: `{"headers":{"value":"v"},"enums":[{"value":"RED"}],"forward_client_headers":false}`,
		`{"headers":[{"name":"a","value":{"value":"x"}}]}`:                                   `{"headers":[{"name":"a","value":{"value":"x"}}]}`,
	} {
		require.Equal(t, want, string(Mask(json.RawMessage(raw))))
	}
}

func TestSecretsInAddressesAreHidden(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.org/hook":                            "https://example.org/hook",
		"https://user:pass@example.org/a@b":                   "https://user:***@example.org/a@b",
		"https://user:p@ss@example.org":                       "https://user:***@example.org",
		"https://ghp_123@example.org/":                        "https://***@example.org/",
		"https://user:{{PASS}}@example.org":                   "https://user:{{PASS}}@example.org",
		"https://user:a{{PASS}}b@example.org":                 "https://user:***{{PASS}}***@example.org",
		"https://h/x?token=abc&page=2&api_key=%20x#top":       "https://h/x?token=***&page=2&api_key=***#top",
		"https://h/x?X-Signature=a=b&access_token={{T}}&auth": "https://h/x?X-Signature=***&access_token={{T}}&auth",
		"https://h/x?code=1&country_code=DE&%74oken=1":        "https://h/x?code=***&country_code=DE&%74oken=***",
		"https://h/#access_token=x":                           "https://h/#access_token=***",
		"{{BASE}}/a?secret=x":                                 "{{BASE}}/a?secret=***",
		"{{BASE}}":                                            "{{BASE}}",
		"?":                                                   "?",
		"":                                                    "",
		"https://h/?token=":                                   "https://h/?token=",
		"https://h/?token={{A":                                "https://h/?token=***",
	} {
		for _, member := range []string{"webhook", "webhook_conf", "handler", "url"} {
			require.Equal(t, `{"`+member+`":"`+want+`"}`, string(Mask(json.RawMessage(`{"`+member+`":"`+address+`"}`))))
		}
		require.Equal(t, `{"comment":"`+address+`"}`, string(Mask(json.RawMessage(`{"comment":"`+address+`"}`))))
	}
}

func TestPasswordsInSQLAreHidden(t *testing.T) {
	for sql, want := range map[string]string{
		`create role bob password 'secret'`:                         `create role bob password '***'`,
		`ALTER ROLE bob WITH ENCRYPTED PASSWORD 'it''s' LOGIN`:      `ALTER ROLE bob WITH ENCRYPTED PASSWORD '***' LOGIN`,
		`alter role bob password E'a\'b'; select 'x'`:               `alter role bob password E'***'; select 'x'`,
		`alter role bob password U&'a'`:                             `alter role bob password U&'***'`,
		`alter role bob password $x$a'b$x$`:                         `alter role bob password '***'`,
		`alter role bob password null; select 'x'`:                  `alter role bob password null; select 'x'`,
		`options (user 'bob', password 'secret')`:                   `options (user 'bob', password '***')`,
		`update users set password = 'x', name = 'y'`:               `update users set password = '***', name = 'y'`,
		`update users set "password" = 'x'`:                         `update users set "password" = '***'`,
		`connection 'host=h password=secret dbname=d'`:              `connection 'host=h password=*** dbname=d'`,
		`connection 'password=''a b'' host=h'`:                      `connection 'password=*** host=h'`,
		`select 'postgres://bob:secret@h/db'`:                       `select 'postgres://bob:***@h/db'`,
		`do $$ begin create role bob password 'x'; end $$`:          `do $$ begin create role bob password '***'; end $$`,
		`do $$ begin execute 'alter role b password ''x'''; end $$`: `do $$ begin execute 'alter role b password ''***'''; end $$`,
		`select 'the password is wrong' -- password 'x'`:            `select 'the password is wrong' -- password 'x'`,
		`select 1 /* it's */ as password, 'x'`:                      `select 1 /* it's */ as password, 'x'`,
		`select $1, $$a$$, $a$b`:                                    `select $1, $$a$$, $a$b`,
		`password '`:                                                `password '***'`,
		`password`:                                                  `password`,
		`select "it's", 'naïve' from t`:                             `select "it's", 'naïve' from t`,
	} {
		raw := encode(map[string]any{"sql": sql, "cascade": true})
		require.Equal(t, string(encode(map[string]any{"sql": want, "cascade": true})), string(Mask(raw)))
	}
}

func TestAllElseStaysByteForByte(t *testing.T) {
	for _, raw := range []string{
		``, `null`, `"url"`, `[]`, `{ "a" : [1.50, -0, 1e9, "\u00e9\/", true ] , "a":"twice" }`,
		`{"webhook":"http:\/\/h"}`, `{"sql":"select \u0031"}`, `[["x",{"name":"y","value":"z"}]]`, " {} \n",
	} {
		require.Equal(t, raw, string(Mask(json.RawMessage(raw))))
	}
}

func TestTextThatIsNoJSONIsHiddenWhole(t *testing.T) {
	for _, raw := range []string{`{`, `{"headers":[{"value":"x"`, `nonsense`, `{"a":1}}`} {
		require.Equal(t, `"***"`, string(Mask(json.RawMessage(raw))))
	}
}

func TestWhatTheHistoryKeepsOfTheOperationsIsMasked(t *testing.T) {
	for _, body := range []string{
		createTrigger(`"enable_manual":true,"headers":[{"name":"a","value":"S3CRET"}]`),
		createCron(`"headers":[{"name":"a","value":"S3CRET"}]`),
		createAction(`,"headers":[{"name":"a","value":"S3CRET"}]`),
		`{"type":"create_scheduled_event","args":{"webhook":"http://u:S3CRET@h","schedule_at":"2020-01-01T00:00:00Z"}}`,
		`{"type":"add_remote_schema","args":{"name":"r","definition":{"url":"http://h?key=S3CRET","headers":[{"name":"a","value":"S3CRET"}]}}}`,
	} {
		req, err := Parse([]byte(body))
		require.NoError(t, err)
		args := Encode(req.Command)
		require.Contains(t, string(args), "S3CRET")
		require.NotContains(t, string(Mask(args)), "S3CRET")
		require.True(t, json.Valid(Mask(args)))
	}
}

func TestMaskingTwiceChangesNothingMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{
			"url":     rapid.StringMatching(`[a-z:/@?&=#{}]{0,30}`).Draw(t, "url"),
			"sql":     rapid.StringMatching(`(password|'|\$\$|E| |=|x|--|\n|"){0,12}`).Draw(t, "sql"),
			"headers": []any{map[string]any{"name": "a", "value": rapid.String().Draw(t, "value")}},
			"other":   rapid.String().Draw(t, "other"),
		}
		once := Mask(encode(value))
		if !json.Valid(once) || string(Mask(once)) != string(once) {
			t.Fatalf("%s\n%s\n%s", encode(value), once, Mask(once))
		}
	})
}
