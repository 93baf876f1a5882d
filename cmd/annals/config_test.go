package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parse reads a command line of `annals serve` in an environment that has no
// other variables of ours.
func parse(t *testing.T, environment map[string]string, args ...string) (Serve, error) {
	t.Helper()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, variablePrefixes[0]) || strings.HasPrefix(name, variablePrefixes[1]) {
			t.Setenv(name, "") // restores it afterwards
			require.NoError(t, os.Unsetenv(name))
		}
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	var cli commands
	parser, err := newParser(t.Context(), &cli, console{in: strings.NewReader(""), out: io.Discard, err: io.Discard}, func(int) {})
	require.NoError(t, err)
	_, err = parser.Parse(append([]string{"serve"}, args...))
	return cli.Serve.Serve, err
}

func TestASettingComesFromItsFlagThenItsVariablesThenItsDefault(t *testing.T) {
	type env = map[string]string
	for _, c := range []struct {
		name string
		env  env
		args []string
		want func(Serve) any
		is   any
	}{
		{"a default", nil, nil, func(s Serve) any { return s.ServerPort }, 8080},
		{"a variable", env{"SERVICE_GRAPHQL_SERVER_PORT": "1"}, nil, func(s Serve) any { return s.ServerPort }, 1},
		{"the other spelling", env{"HASURA_GRAPHQL_SERVER_PORT": "2"}, nil, func(s Serve) any { return s.ServerPort }, 2},
		{"ours before the other", env{"SERVICE_GRAPHQL_SERVER_PORT": "1", "HASURA_GRAPHQL_SERVER_PORT": "2"}, nil,
			func(s Serve) any { return s.ServerPort }, 1},
		{"a flag", env{"SERVICE_GRAPHQL_SERVER_PORT": "1"}, []string{"--server-port", "3"}, func(s Serve) any { return s.ServerPort }, 3},
		{"a flag that is the zero value", env{"SERVICE_GRAPHQL_SERVER_PORT": "1"}, []string{"--server-port=0"},
			func(s Serve) any { return s.ServerPort }, 0},

		{"a toggle is off", nil, nil, func(s Serve) any { return s.DevMode }, toggle(false)},
		{"a toggle is on by default", nil, nil, func(s Serve) any { return s.AdminInternal }, toggle(true)},
		{"a toggle on", nil, []string{"--dev-mode"}, func(s Serve) any { return s.DevMode }, toggle(true)},
		{"a toggle on before another flag", nil, []string{"--dev-mode", "--server-port", "3"}, func(s Serve) any { return s.DevMode }, toggle(true)},
		{"a toggle off by its flag", nil, []string{"--admin-internal-errors=false"}, func(s Serve) any { return s.AdminInternal }, toggle(false)},
		{"a toggle off by its flag, on by its variable", env{"SERVICE_GRAPHQL_DEV_MODE": "true"}, []string{"--dev-mode=no"},
			func(s Serve) any { return s.DevMode }, toggle(false)},
		{"a toggle in the words of v1.3", env{"HASURA_GRAPHQL_DEV_MODE": "Y"}, nil, func(s Serve) any { return s.DevMode }, toggle(true)},
		{"a toggle off by its variable", env{"HASURA_GRAPHQL_ADMIN_INTERNAL_ERRORS": "f"}, nil, func(s Serve) any { return s.AdminInternal }, toggle(false)},

		{"a time span in plain seconds", env{"HASURA_GRAPHQL_PG_CONN_LIFETIME": "600"}, nil,
			func(s Serve) any { return s.ConnLifetime }, duration(10 * time.Minute)},
		{"a time span with units", nil, []string{"--conn-lifetime", "1h30m"}, func(s Serve) any { return s.ConnLifetime }, duration(90 * time.Minute)},
		{"a time span with a fraction", nil, []string{"--poll-interval", "0.25"}, func(s Serve) any { return s.PollInterval }, duration(250 * time.Millisecond)},
		{"a size", nil, []string{"--max-body-size", "2MiB"}, func(s Serve) any { return s.MaxBody }, size(2 << 20)},
		{"a size in bytes", nil, []string{"--max-body-size", "17"}, func(s Serve) any { return s.MaxBody }, size(17)},
		{"a list", env{"SERVICE_GRAPHQL_ENABLED_APIS": " GraphQL, metadata "}, nil, func(s Serve) any { return s.EnabledAPIs }, apiNames{"graphql", "metadata"}},

		{"the secret by its old name", env{"HASURA_GRAPHQL_ACCESS_KEY": "s"}, nil, func(s Serve) any { return s.secret() }, "s"},
		{"the mode of the hook by default", nil, nil, func(s Serve) any { return s.AuthHookMode }, "GET"},
		{"the mode of the hook by its old name", env{"HASURA_GRAPHQL_AUTH_HOOK_TYPE": "POST"}, nil, func(s Serve) any { return s.AuthHookMode }, "POST"},
		{"the hook", env{"SERVICE_GRAPHQL_AUTH_HOOK": "http://hook/", "SERVICE_GRAPHQL_ADMIN_SECRET": "s"}, nil, func(s Serve) any { return s.AuthHook }, "http://hook/"},
		{"a database in parts", nil, []string{"--host", "db", "--user", "me", "--password", "p@:/", "--dbname", "shop"},
			func(s Serve) any { return s.url() }, "postgres://me:p%40%3A%2F@db:5432/shop"},
		{"a database's URL before its parts", nil, []string{"--host", "db", "--database-url", "postgres://other/x"},
			func(s Serve) any { return s.url() }, "postgres://other/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings, err := parse(t, c.env, c.args...)
			require.NoError(t, err)
			require.Equal(t, c.is, c.want(settings))
		})
	}
}

const someJWT = `{"type":"HS256","key":"a secret that is long enough 4 it"}`

func TestTheKeyOfJWTIsNotRepeatedInAnError(t *testing.T) {
	for _, text := range []string{"b4dKey", `{"type":"RS256","key":"b4dKey"}`, `{"type":"HS256","key":"b4dKey"}`, `{"key":{"b4dKey":1}}`} {
		_, err := parse(t, map[string]string{"HASURA_GRAPHQL_JWT_SECRET": text, "SERVICE_GRAPHQL_ADMIN_SECRET": "s"})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "b4dKey")
	}
}

func TestJWTIsAccepted(t *testing.T) {
	settings, err := parse(t, map[string]string{"HASURA_GRAPHQL_JWT_SECRET": someJWT}, "--admin-secret=s")
	require.NoError(t, err)
	require.Equal(t, someJWT, settings.JWTSecret)
}

func TestASettingThatMakesNoSenseIsRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--dev-mode=perhaps"}, {"--server-port=70000"}, {"--server-port=x"}, {"--connections=0"}, {"--snapshot-every=0"},
		{"--conn-lifetime=-1s"}, {"--conn-lifetime=1y"}, {"--conn-lifetime=NaN"}, {"--max-body-size=0"}, {"--max-body-size=9000000000GiB"},
		{"--enabled-apis="}, {"--enabled-apis=metadata,,config"}, {"--enabled-log-types=x"}, {"--header-prefix=x-other-"},
		{"--unauthorized-role=visitor"}, {"--auth-hook=http://hook"}, {"--auth-hook=hook", "--admin-secret=s"}, {"--auth-hook-mode=PUT"},
		{"--auth-hook=http://hook", "--admin-secret=s", "--unauthorized-role=visitor"}, {"--jwt-secret=" + someJWT},
		{"--jwt-secret=" + someJWT, "--admin-secret=s", "--auth-hook=http://hook"}, {"--jwt-secret={}", "--admin-secret=s"},
		{"--admin-secret=a", "--access-key=b"}, {"--no-such-flag"}, {"argument"},
		{"--trusted-proxies=10.0.0.0/99"}, {"--trusted-proxies=10.0.0.0/8,"}, {"--ready-lag=0"}, {"--health-timeout=0"}, {"--answer-timeout=0"},
		{"--max-batch-size=0"}, {"--max-result-size=0"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			_, err := parse(t, nil, args...)
			require.Error(t, err)
		})
	}
}

func TestVariablesWithoutEffectAreFound(t *testing.T) {
	set := map[string]string{"HASURA_GRAPHQL_ENABLE_CONSOLE": "true", "SERVICE_GRAPHQL_PG_STRIPES": "4", "HASURA_GRAPHQL_PG_STRIPES": ""}
	lookup := func(name string) (string, bool) { value, ok := set[name]; return value, ok }
	require.Equal(t, []string{"SERVICE_GRAPHQL_PG_STRIPES", "HASURA_GRAPHQL_ENABLE_CONSOLE"}, variablesSet(withoutEffect, lookup))
}

func TestEveryVariableHasTwoSpellings(t *testing.T) {
	parser, err := newParser(t.Context(), &commands{}, console{}, func(int) {})
	require.NoError(t, err)
	for _, command := range parser.Model.Children {
		for _, flag := range command.Flags {
			if len(flag.Envs) == 0 {
				continue
			}
			for pair := range slices.Chunk(flag.Envs, 2) {
				require.Len(t, pair, 2, flag.Name)
				bare, ours := strings.CutPrefix(pair[0], variablePrefixes[0])
				require.True(t, ours, pair[0])
				require.Equal(t, variablePrefixes[1]+bare, pair[1])
			}
		}
	}
}
