package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAToolWorksOnWhatIsNamedMostClearly(t *testing.T) {
	server, database := Target{URL: "http://s"}, Target{Database: Database{DatabaseURL: "postgres://d"}}
	both := Target{URL: server.URL, Database: database.Database}
	for _, c := range []struct {
		name    string
		target  Target
		given   typed
		url     string
		refused bool
	}{
		{"a server", server, nil, "http://s", false},
		{"a database", database, nil, "", false},
		{"neither", Target{}, nil, "", false},
		{"a server by flag, a database by variable", both, typed{"url": true}, "http://s", false},
		{"a database by flag, a server by variable", both, typed{"database-url": true}, "", false},
		{"a data folder by flag, a server by variable", server, typed{"data-dir": true}, "", false},
		{"both by variables", both, nil, "", true},
		{"both by flags", both, typed{"url": true, "database-url": true}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			chosen, err := c.target.choose(c.given)
			if c.refused {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.url, chosen.URL)
		})
	}
}

func TestAServerMayBeNamedShortly(t *testing.T) {
	require.Equal(t, "http://localhost:8080", baseURL("localhost:8080"))
	require.Equal(t, "https://h/annals", baseURL("https://h/annals/"))
}
