package metadata

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func cron(name string) CronTrigger {
	return CronTrigger{Name: name, Webhook: "http://hook", Schedule: "* * * * *", IncludeInMetadata: true, RetryConf: defaultScheduleRetryConf}
}

// createCron is the body of a create_cron_trigger with these members more.
func createCron(members string) string {
	body := `{"type":"create_cron_trigger","args":{"name":"foo","webhook":"http://hook","include_in_metadata":true,"schedule":"0 22 * * 1-5",` + members + `}}`
	return strings.Replace(body, ",}}", "}}", 1)
}

func TestACronTriggerIsKeptWithItsDefaultsFilledIn(t *testing.T) {
	given(t, shapeOf()).when(createCron("")).
		changes("cron_trigger_created foo").
		holds(cronTriggerKey("foo"), `{"name":"foo","webhook":"http://hook","schedule":"0 22 * * 1-5","include_in_metadata":true,"headers":[],
			"retry_conf":{"num_retries":0,"retry_interval_seconds":10,"timeout_seconds":60,"tolerance_seconds":21600}}`)
}

func TestACronTriggerIsKeptWhole(t *testing.T) {
	given(t, shapeOf()).
		when(createCron(`"payload":{"k":[1,null,"v"]},"comment":"","headers":[{"name":"a","value":"b"}],
			"retry_conf":{"num_retries":3,"retry_interval_seconds":0.5,"timeout_seconds":30,"tolerance_seconds":1e2}`)).
		changes("cron_trigger_created foo").
		holds(cronTriggerKey("foo"), `{"name":"foo","webhook":"http://hook","schedule":"0 22 * * 1-5","include_in_metadata":true,
			"payload":{"k":[1,null,"v"]},"comment":"","headers":[{"name":"a","value":"b"}],
			"retry_conf":{"num_retries":3,"retry_interval_seconds":0.5,"timeout_seconds":30,"tolerance_seconds":100}}`)
}

func TestACronTriggerMayGoByTheClocksOfATimeZone(t *testing.T) {
	outcome := given(t, shapeOf()).when(createCron(`"timezone":"Europe/Berlin"`)).accepted()
	stored, _ := lookup[CronTrigger](outcome.decision.World.Catalog, cronTriggerKey("foo"))
	plan, err := stored.Plan()
	require.NoError(t, err)
	summer := time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, time.Date(2026, time.July, 1, 20, 0, 0, 0, time.UTC), plan.Next(summer))
	require.Equal(t, encode(stored), encode(decodeEntry(t, encode(stored.exported()), decodeCronTriggerEntry)))
}

func TestAWebhookMayBeTheNameOfAVariable(t *testing.T) {
	body := strings.Replace(createCron(""), `"http://hook"`, `{"from_env":"HOOK"}`, 1)
	outcome := givenEnvironment(t, Environment{"HOOK": "http://hook"}, shapeOf()).when(body).accepted()
	stored, _ := lookup[CronTrigger](outcome.decision.World.Catalog, cronTriggerKey("foo"))
	require.Equal(t, "{{HOOK}}", stored.Webhook)
}

func TestACronTriggerThatCannotBeIsRefusedAtOnce(t *testing.T) {
	without := func(member string) string { return strings.Replace(createCron(""), member, `"x":1`, 1) }
	with := func(from, to string) string { return strings.Replace(createCron(""), from, to, 1) }
	cases := []struct{ name, body, path, message string }{
		{"no name", without(`"name":"foo"`), "$", `key "name" not found`},
		{"empty name", with(`"foo"`, `""`), "$.name", "empty string not allowed"},
		{"no webhook", without(`"webhook":"http://hook"`), "$", `key "webhook" not found`},
		{"no schedule", without(`"schedule":"0 22 * * 1-5"`), "$", `key "schedule" not found`},
		{"no include_in_metadata", without(`"include_in_metadata":true`), "$", `key "include_in_metadata" not found`},
		{"six fields", with(`0 22 * * 1-5`, `0 0 22 * * 1`), "$.schedule",
			"expected exactly 5 fields (minute, hour, day of month, month, day of week), found 6"},
		{"a word", with(`0 22 * * 1-5`, `@reboot`), "$.schedule", `"@reboot" is not a name that is understood: expected @yearly, @monthly, @weekly, @daily or @hourly, or 5 fields`},
		{"a day by its whole name", with(`0 22 * * 1-5`, `0 22 * * MONDAY`), "$.schedule", `in the field "day of week": "MONDAY" is not a number, nor one of sun, mon, tue, wed, thu, fri, sat`},
		{"a NUL within the payload", createCron(`"payload":{"a":["\u0000"]}`), "$.payload.a[0]", "a NUL character (\\u0000) is not allowed here"},
		{"a zone", with(`0 22 * * 1-5`, `CRON_TZ=`), "$.schedule", `unexpected character '_' in a cron expression of five fields`},
		{"schedule that is no text", with(`"0 22 * * 1-5"`, `5`), "$.schedule", "parsing Text failed, expected String, but encountered Number"},
		{"negative retries", createCron(`"retry_conf":{"num_retries":-1}`), "$.retry_conf", "num_retries cannot be a negative value"},
		{"retries that are no whole number", createCron(`"retry_conf":{"num_retries":1.5}`), "$.retry_conf.num_retries",
			"parsing Int failed, the value is either floating or will cause over or underflow: 1.5"},
		{"negative timeout", createCron(`"retry_conf":{"timeout_seconds":-0.1}`), "$.retry_conf.timeout_seconds", "negative value not allowed"},
		{"negative interval", createCron(`"retry_conf":{"retry_interval_seconds":-1}`), "$.retry_conf.retry_interval_seconds", "negative value not allowed"},
		{"negative tolerance", createCron(`"retry_conf":{"tolerance_seconds":-1e9}`), "$.retry_conf.tolerance_seconds", "negative value not allowed"},
		{"endless tolerance", createCron(`"retry_conf":{"tolerance_seconds":1e999}`), "$.retry_conf.tolerance_seconds", "the value can be at most 2147483647"},
		{"a duration as text", createCron(`"retry_conf":{"tolerance_seconds":"1"}`), "$.retry_conf.tolerance_seconds",
			"parsing Number failed, expected Number, but encountered String"},
		{"no time zone", createCron(`"timezone":"Nowhere"`), "$.timezone", `"Nowhere" is not the name of a time zone, such as Europe/Berlin`},
		{"the machine's time zone", createCron(`"timezone":"Local"`), "$.timezone", `"Local" is not the name of a time zone, such as Europe/Berlin`},
		{"empty time zone", createCron(`"timezone":""`), "$.timezone", "empty string not allowed"},
		{"own variable as webhook", with(`"http://hook"`, `{"from_env":"SERVICE_GRAPHQL_X"}`), "$.webhook.from_env",
			`env variables starting with "SERVICE_GRAPHQL_" are not allowed in from_env: SERVICE_GRAPHQL_X`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			given(t, shapeOf()).when(c.body).refuses(domain.ParseFailed, c.path, c.message)
		})
	}
}

func TestACronTriggerIsCreatedOnceAndReplacedWhereItIs(t *testing.T) {
	given(t, shapeOf(), cron("foo")).when(createCron("")).
		refuses(domain.AlreadyExists, "$.args", "cron trigger with name: foo already exists")
	given(t, shapeOf()).when(createCron(`"replace":true`)).
		refuses(domain.NotExists, "$.args", "cron trigger with name: foo does not exist")
	given(t, shapeOf(), cron("foo")).when(createCron(`"replace":true`)).changes("cron_trigger_changed foo").
		then().when(createCron(`"replace":true`)).changes()
}

func TestTheEnvironmentOfACronTriggerMustBeSet(t *testing.T) {
	given(t, shapeOf()).when(createCron(`"headers":[{"name":"a","value_from_env":"X"}]`)).
		refuses(domain.ConstraintViolation, "$.args", "in cron trigger foo: environment variable 'X' not set").
		internal(`[{"type":"cron_trigger","reason":"in cron trigger foo: environment variable 'X' not set","definition":{
			"name":"foo","webhook_conf":"http://hook","cron_schedule":"0 22 * * 1-5","payload":null,"comment":null,
			"header_conf":[{"name":"a","value_from_env":"X"}],
			"retry_conf":{"num_retries":0,"retry_interval_seconds":10,"timeout_seconds":60,"tolerance_seconds":21600}}}]`)
	given(t, shapeOf()).when(strings.Replace(createCron(""), "http://hook", "http://{{X}}", 1)).
		refuses(domain.ConstraintViolation, "$.args", "in cron trigger foo: Value for environment variables not found: X")
}

func TestDeletingACronTrigger(t *testing.T) {
	const body = `{"type":"delete_cron_trigger","args":{"name":"foo"}}`
	given(t, shapeOf(), cron("foo")).when(body).changes("cron_trigger_dropped foo").
		then().when(body).refuses(domain.NotExists, "$.args", "cron trigger with name: foo does not exist")
}

func TestACronTriggerIsExportedWithoutWhatGoesWithoutSaying(t *testing.T) {
	plain := cron("foo")
	sameJSON(t, `{"name":"foo","webhook":"http://hook","schedule":"* * * * *","include_in_metadata":true}`, encode(plain.exported()))

	full := plain
	full.Payload, full.Comment, full.Headers = []byte(`{"a":1}`), ptr("c"), []Header{{Name: "h", Value: ptr("v")}}
	full.RetryConf.NumRetries = 1
	sameJSON(t, `{"name":"foo","webhook":"http://hook","schedule":"* * * * *","include_in_metadata":true,"payload":{"a":1},"comment":"c",
		"headers":[{"name":"h","value":"v"}],
		"retry_conf":{"num_retries":1,"retry_interval_seconds":10,"timeout_seconds":60,"tolerance_seconds":21600}}`, encode(full.exported()))

	for _, trigger := range []CronTrigger{plain, full} {
		require.Equal(t, encode(trigger), encode(decodeEntry(t, encode(trigger.exported()), decodeCronTriggerEntry)))
	}
}
