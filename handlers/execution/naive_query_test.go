package execution_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"annals/domain"
)

// naiveWorlds is how many random databases are tried, naiveOperations how many
// operations in each; ANNALS_NAIVE_WORLDS asks for more, ANNALS_NAIVE_SEED for others.
const (
	naiveWorlds     = 25
	naiveOperations = 12
)

func asked(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// session is the session of who asks.
func (a who) as() domain.Session {
	s := domain.Session{Role: a.role, Variables: map[string]string{}}
	for name, v := range a.session {
		s.Variables[name] = fmt.Sprint(v)
	}
	return s
}

func (w *world) somebody() who {
	return who{oneOf(w.Rand, []string{"admin", "user", "guest"}), oneOf(w.Rand, w.sessions[:])}
}

// become makes the database and the metadata a world's.
func (e *engine) become(w *world) {
	e.t.Helper()
	e.Do(`{"type":"clear_metadata","args":{}}`)
	_, err := e.Pool.Exec(e.t.Context(), w.sql())
	require.NoError(e.t, err, w.sql())
	e.Do(w.metadata())
}

func TestAnyOperationAnswersWhatLookingAtEveryRowDoes(t *testing.T) {
	t.Parallel()
	e := newEngine(t, "")
	first := asked("ANNALS_NAIVE_SEED", 20261121)
	for seed := first; seed < first+asked("ANNALS_NAIVE_WORLDS", naiveWorlds); seed++ {
		w := newWorld(rand.New(rand.NewPCG(uint64(seed), 3)))
		e.become(w)
		for i := range naiveOperations {
			q := queries{world: w, writing: newText(w.Rand), asks: w.somebody()}
			text, want := q.operation()
			got, err := e.ask(q.asks.as(), text, q.given())
			about := fmt.Sprintf("seed %d, operation %d, as %s\n%s\n%s\n%s", seed, i, q.asks.role, text, q.given(), w.metadata())
			require.NoError(t, err, about)
			var answer struct{ Data json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(got), &answer), about)
			if diff := unlike("$", want, answer.Data); diff != "" {
				t.Fatalf("%s\nanswered %s\n%s", about, got, diff)
			}
		}
	}
}
