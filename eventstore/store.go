// Package eventstore is what happened: an append-only log of events in
// PostgreSQL. It knows neither metadata nor GraphQL; to it an event is a type
// and three JSON texts.
//
// The log is one sequence. An event's position is its place in it, counted from
// 1 without gaps, and also the order of commit: appends queue on one head row,
// so whoever has seen position n has seen all before it, and "position > n"
// never skips an event that commits later. Events are chained by SHA-256 (see
// package chain) and never change; triggers refuse it.
//
// Writing:
//
//   - [Store.Append] writes events in a transaction of its own. Callers that
//     come while a commit is under way share the next one.
//   - [Store.AppendTx] writes them in the caller's transaction, and
//     [Store.Lock] takes the head of the log before, so that what the caller
//     decides on still holds when it appends.
//   - Both take the position the log is expected to end at, [At], or [Any]; if
//     it ends elsewhere, nothing is written and the error is a [VersionConflict].
//
// Reading, in the order of positions:
//
//   - [Store.Read] yields events, [Store.Scan] lends the bytes of those columns
//     that a fold needs, [Store.Get] answers one and [Store.Find] a page for an
//     audit, newest first.
//   - [Store.Follow] goes on where the log ends and waits for more.
//   - [Store.Subscriber] is the log as a Watermill topic.
//   - [Store.Verify] reads all of it and computes the chain anew.
//
// A reader resumes from the last position it handled. To keep that position
// there are checkpoints; snapshots keep what a reader has made of the log up to
// a position. Both may be thrown away, the log may not.
//
// Transactions in which events are appended must be READ COMMITTED,
// PostgreSQL's default: under a stricter level whoever has waited for the head
// is refused by the database.
package eventstore

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// DefaultPollInterval is how often followers look without being woken.
	DefaultPollInterval = 500 * time.Millisecond
	// DefaultCommitTimeout bounds a commit that several callers share.
	DefaultCommitTimeout = 30 * time.Second
)

// Config tunes a Store. Its zero value is good.
type Config struct {
	// PollInterval is how often a follower looks for events nobody woke it for,
	// and how long it waits after an error: DefaultPollInterval if zero.
	PollInterval time.Duration

	// CommitTimeout bounds an append made for several callers of Append at once,
	// which must not end with the context of one: DefaultCommitTimeout if zero.
	CommitTimeout time.Duration
}

// A Store is the log in one database. It may be used from any number of
// goroutines; a node has one.
type Store struct {
	pool   *pgxpool.Pool
	config Config
	group  group
	bell   *bell
	hinter hinter
}

// New is the log in the database of the pool, which must be migrated. A Store
// needs no closing: it holds nothing while nobody uses it.
func New(pool *pgxpool.Pool, config Config) *Store {
	if config.PollInterval <= 0 {
		config.PollInterval = DefaultPollInterval
	}
	if config.CommitTimeout <= 0 {
		config.CommitTimeout = DefaultCommitTimeout
	}
	return &Store{pool: pool, config: config, bell: newBell(pool, config.PollInterval), hinter: hinter{pool: pool}}
}

// A Querier is a pool, a connection or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

//go:embed head.sql
var headSQL string

// Head is where the log ends.
func (s *Store) Head(ctx context.Context) (Head, error) { return s.HeadIn(ctx, s.pool) }

// HeadIn is Head as a transaction or a connection sees it.
func (s *Store) HeadIn(ctx context.Context, q Querier) (Head, error) {
	head, err := scanHead(q.QueryRow(ctx, headSQL))
	if err != nil {
		return Head{}, fmt.Errorf("read the head of the log: %w", err)
	}
	return head, nil
}

func scanHead(row pgx.Row) (Head, error) {
	var head Head
	var hash []byte
	if err := row.Scan(&head.Position, &hash); err != nil {
		return Head{}, err
	}
	if len(hash) != len(head.Hash) {
		return Head{}, fmt.Errorf("its hash is %d bytes long", len(hash))
	}
	head.Hash = [32]byte(hash)
	return head, nil
}
