package metadata

import (
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

func TestWhatATriggerSaysOfItsDeliveriesIsKeptAndExported(t *testing.T) {
	env := Environment{"KEY": "s", "OLD_KEY": "s"}
	options := `"max_concurrency":4,"rate_limit":2.5,"signing_secrets_from_env":["KEY","OLD_KEY"]`
	retry := `"backoff":{"max_interval":600,"jitter":0.5},"no_retry_on":[400,410]`
	event := givenEnvironment(t, env, shapeOf(authors()...), tracked("author")...).
		when(createTrigger(`"insert":{"columns":"*"},"ordering_key":"name",` + options + `,"retry_conf":{"num_retries":3,` + retry + `}`)).accepted()
	stored, err := event.decision.World.EventTrigger("t")
	require.NoError(t, err)
	sameJSON(t, `{"name":"t","webhook":"http://hook","definition":{"enable_manual":false,"insert":{"columns":"*"}},
		"retry_conf":{"num_retries":3,"interval_sec":10,`+retry+`},"ordering_key":"name",`+options+`}`, encode(stored.exported()))

	cron := givenEnvironment(t, env, shapeOf()).when(createCron(options + `,"retry_conf":{` + retry + `}`)).accepted()
	fires, err := cron.decision.World.CronTrigger("foo")
	require.NoError(t, err)
	sameJSON(t, `{"name":"foo","webhook":"http://hook","schedule":"0 22 * * 1-5","include_in_metadata":true,`+options+`,
		"retry_conf":{"num_retries":0,"retry_interval_seconds":10,"timeout_seconds":60,"tolerance_seconds":21600,`+retry+`}}`, encode(fires.exported()))
}

func TestOptionsOfDeliveriesThatCannotBeAreRefused(t *testing.T) {
	for _, one := range []struct{ members, path, message string }{
		{`"max_concurrency":0`, "$.max_concurrency", "expecting a number above 0"},
		{`"rate_limit":0`, "$.rate_limit", "expecting a number above 0"},
		{`"signing_secrets_from_env":["SERVICE_GRAPHQL_ADMIN_SECRET"]`, "$.signing_secrets_from_env[0]", "env variables starting with \"SERVICE_GRAPHQL_\" are not allowed in signing_secrets_from_env: SERVICE_GRAPHQL_ADMIN_SECRET"},
		{`"retry_conf":{"backoff":{"jitter":2}}`, "$.retry_conf.backoff.jitter", "expecting a number from 0 to 1"},
		{`"retry_conf":{"backoff":{"max_interval":0}}`, "$.retry_conf.backoff.max_interval", "expecting a number above 0"},
		{`"retry_conf":{"no_retry_on":[99]}`, "$.retry_conf.no_retry_on[0]", "99 is not a status of HTTP"},
	} {
		given(t, shapeOf(authors()...), tracked("author")...).
			when(createTrigger(`"insert":{"columns":"*"},`+one.members)).
			refuses(domain.ParseFailed, one.path, one.message)
	}
}

func TestATriggerNeedsItsOrderingKeyAndItsSecrets(t *testing.T) {
	for members, reason := range map[string]string{
		`"ordering_key":"missing"`:               `table "author" has no field named "missing"`,
		`"signing_secrets_from_env":["MISSING"]`: `in table "author": in event trigger "t": environment variable 'MISSING' not set`,
	} {
		given(t, shapeOf(authors()...), tracked("author")...).
			when(createTrigger(`"insert":{"columns":"*"},`+members)).
			refuses(domain.ConstraintViolation, "$.args", reason)
	}
}
