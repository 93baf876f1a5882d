package execution

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"annals/domain"
	"annals/domain/engine/join"
	"annals/domain/engine/translate"
)

// Joins bounds what one operation asks of remote schemas for its rows. Zero is
// the default of each.
type Joins struct {
	// MaxKeys is how many different keys an operation may have.
	MaxKeys int
	// Batch is how many keys one request to a remote may hold.
	Batch int
	// Concurrency is how many requests are under way at a time.
	Concurrency int
	// Log takes why relationships answered null that may. Nil: [slog.Default].
	Log *slog.Logger
}

// The defaults of [Joins].
const (
	DefaultMaxJoinKeys     = 100_000
	DefaultJoinBatch       = 1000
	DefaultJoinConcurrency = 4
)

func (j Joins) withDefaults() Joins {
	if j.MaxKeys == 0 {
		j.MaxKeys = DefaultMaxJoinKeys
	}
	if j.Batch == 0 {
		j.Batch = DefaultJoinBatch
	}
	if j.Concurrency == 0 {
		j.Concurrency = DefaultJoinConcurrency
	}
	if j.Log == nil {
		j.Log = slog.Default()
	}
	return j
}

// joins is what an answer needs of remote schemas. fault is why it cannot be
// asked.
type joins struct {
	join.Needs
	fault error
	key   join.Key // of the row that is written
}

// join leaves a hole for the value of a remote field, and notes the row's key.
func (w *writer) join(j *translate.Join, row [][]byte) {
	if anyNull(j.Keys, row) || anyNull(j.Present, row) {
		w.null()
		return
	}
	key := w.joins.key[:0]
	for _, k := range j.Keys {
		var err error
		if key, err = withLiteral(key, row[k.Column], k.Encoding); err != nil && w.joins.fault == nil {
			w.joins.fault = err
		}
	}
	w.joins.Add(len(w.out), j.Call, key)
	w.joins.key = key
}

// anyNull reports whether a column is null, as JSON has it: a value may be
// JSON's own.
func anyNull(columns []translate.Key, row [][]byte) bool {
	return slices.ContainsFunc(columns, func(k translate.Key) bool {
		v := row[k.Column]
		return v == nil || k.Encoding == translate.EncodeJSON && string(v) == "null"
	})
}

// withLiteral adds a column's value to a key.
func withLiteral(key join.Key, v []byte, e translate.Encoding) (join.Key, error) {
	switch {
	case e == translate.EncodeString, e == translate.EncodeNumber && !isNumber(v):
		return key.Quoted(v), nil
	case e == translate.EncodeBoolean && v[0] == 't':
		return key.Written([]byte("true")), nil
	case e == translate.EncodeBoolean:
		return key.Written([]byte("false")), nil
	case e == translate.EncodeJSON:
		return key.JSON(v)
	}
	return key.Written(v), nil
}

// joined asks the remotes for what the written answer needs of them, side by
// side, and returns the answer with it. No connection is held meanwhile.
func (e *Executor) joined(ctx context.Context, op Operation, w *writer) ([]byte, error) {
	needs, most := &w.joins.Needs, e.config.Joins.MaxKeys
	switch {
	case w.joins.fault != nil:
		return nil, w.joins.fault
	case needs.Len() == 0:
		return w.out, nil
	case needs.Len() > most:
		return nil, domain.RefuseAt("$", domain.TooLarge,
			"the remote relationships of the operation have %d different keys; at most %d are joined: ask for fewer rows at a time, or raise --remote-join-max-keys", needs.Len(), most)
	}
	if err := e.askForJoins(ctx, op, needs); err != nil {
		return nil, err
	}
	return needs.Weave(w.out), nil
}

func (e *Executor) askForJoins(ctx context.Context, op Operation, needs *join.Needs) error {
	requests := needs.Requests(e.config.Joins.Batch)
	said, err := e.askSideBySide(ctx, op, requests)
	if err != nil {
		return err
	}
	for i, r := range requests {
		tolerated, err := said[i].take(needs, r)
		if err != nil {
			return err
		}
		if tolerated != nil {
			e.config.Joins.Log.WarnContext(ctx, "a remote relationship answers null", "remote_schema", r.Remote, "error", tolerated)
		}
	}
	return nil
}

// said is the body of a remote's answer, or why there is none.
type said struct {
	body    []byte
	failure error
}

func (s said) take(needs *join.Needs, r join.Request) (tolerated, err error) {
	if s.failure != nil {
		return needs.Fail(r, s.failure)
	}
	return needs.Take(r, s.body)
}

// askSideBySide fails with the first request that fails and may not.
func (e *Executor) askSideBySide(ctx context.Context, op Operation, requests []join.Request) ([]said, error) {
	answers := make([]said, len(requests))
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(e.config.Joins.Concurrency)
	for i, r := range requests {
		group.Go(func() error {
			answers[i].body, answers[i].failure = e.askForJoin(asking, op, r)
			if r.MayFail {
				return nil
			}
			return answers[i].failure
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask remote servers: %w", err)
	}
	return answers, nil
}

// askForJoin asks one remote. What it says beside its body, such as cookies, is
// not the client's.
func (e *Executor) askForJoin(ctx context.Context, op Operation, r join.Request) ([]byte, error) {
	answer, err := e.post(ctx, Caller{op.Session, op.Client}, callOf(r).request(op))
	if err == nil && answer.Truncated {
		err = tooLarge(answer)
	}
	return answer.Body, err
}

func callOf(r join.Request) remoteCall {
	names := make([]string, len(r.Variables))
	for i, v := range r.Variables {
		names[i] = v.Name
	}
	return remoteCall{schema: r.Remote, begun: r.Body, variables: names}
}
