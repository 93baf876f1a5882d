package eventstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"annals/eventstore"
	"annals/eventstore/storetest"
)

// A forger owns the database and may do what the service cannot.
type forger struct {
	store *eventstore.Store
	pool  *pgxpool.Pool
}

const forgedLog = 6 // events

func newForger(t *testing.T) forger {
	store, pool := open(t)
	events := storetest.NewEvents(forgedLog)
	for i := range events {
		if i%2 == 0 {
			events[i].Comment, events[i].Batch, events[i].BatchIndex = "because", uuid.Must(uuid.NewV7()), i
		}
	}
	storetest.Append(t, store, events...)
	f := forger{store, pool}
	f.exec(t, `create table kept as select * from annals.events; create table kept_head as select * from annals.log_head;
		alter table annals.events disable trigger all; alter table annals.log_head disable trigger all`)
	return f
}

func (f forger) exec(t *testing.T, sql string) {
	t.Helper()
	_, err := f.pool.Exec(t.Context(), sql)
	require.NoError(t, err, sql)
}

// found forges, requires that the forgery is found at a position, and undoes it.
func (f forger) found(t *testing.T, position int64, forgery string) {
	t.Helper()
	storetest.Verified(t, f.store)
	f.exec(t, forgery)
	report, err := f.store.Verify(t.Context(), eventstore.VerifyOptions{})
	require.NoError(t, err)
	require.False(t, report.OK, forgery)
	require.Equal(t, position, report.Position, "%s\n%s", forgery, report.Reason)
	require.Equal(t, position-1, report.Events, "those before it are good: %s", forgery)
	require.NotEmpty(t, report.Reason)
	f.exec(t, `truncate annals.events, annals.log_head; insert into annals.events select * from kept; insert into annals.log_head select * from kept_head`)
}

func TestOneFlippedBitInAnyColumnOfAnyEventIsFound(t *testing.T) {
	f := newForger(t)
	flipText := `convert_from(set_bit(convert_to(%[1]s::text, 'UTF8'), %[2]d, 1 - get_bit(convert_to(%[1]s::text, 'UTF8'), %[2]d)), 'UTF8')`
	flipBytes := `set_bit(%[1]s, %[2]d, 1 - get_bit(%[1]s, %[2]d))`
	flipUUID := `encode(set_bit(uuid_send(%[1]s), %[2]d, 1 - get_bit(uuid_send(%[1]s), %[2]d)), 'hex')::uuid`
	bit := func(from, bits int) int { return from + rand.IntN(bits) }
	for p := int64(1); p <= forgedLog; p++ {
		for column, change := range map[string]string{
			"position":       fmt.Sprintf("position # (1::bigint << %d)", bit(3, 59)),
			"id":             fmt.Sprintf(flipUUID, "id", bit(0, 128)),
			"type":           fmt.Sprintf(flipText, "type", bit(0, 4)),                 // "e" to one of its neighbours
			"args":           fmt.Sprintf(flipText, "args", 10*8+bit(0, 4)) + "::json", // the e of {"name":"example"}
			"changes":        `'[ ]'`,
			"actor":          fmt.Sprintf(flipText, "actor", 9*8+bit(0, 2)) + "::json", // the a of {"role":"admin"}
			"schema_version": fmt.Sprintf("schema_version # (1 << %d)", bit(0, 31)),
			"recorded_at":    fmt.Sprintf("recorded_at + interval '1 microsecond' * (1::bigint << %d)", bit(0, 40)),
			"prev_hash":      fmt.Sprintf(flipBytes, "prev_hash", bit(0, 256)),
			"hash":           fmt.Sprintf(flipBytes, "hash", bit(0, 256)),
		} {
			f.found(t, p, fmt.Sprintf("update annals.events set %s = %s where position = %d", column, change, p))
		}
		optional := map[string]string{"comment": `''`, "batch": `gen_random_uuid()`, "batch_index": "0"}
		if p%2 == 1 {
			optional = map[string]string{
				"comment":     fmt.Sprintf(flipText, "comment", bit(0, 4)),
				"batch":       fmt.Sprintf(flipUUID, "batch", bit(0, 128)),
				"batch_index": fmt.Sprintf("batch_index # (1 << %d)", bit(0, 31)),
			}
			for column := range optional {
				f.found(t, p, fmt.Sprintf("update annals.events set %s = null where position = %d", column, p))
			}
			f.found(t, p, fmt.Sprintf("update annals.events set comment = '' where position = %d", p))
		}
		for column, change := range optional {
			f.found(t, p, fmt.Sprintf("update annals.events set %s = %s where position = %d", column, change, p))
		}
	}
}

func TestARemovedAddedOrMovedEventIsFound(t *testing.T) {
	f := newForger(t)
	for p := int64(1); p <= forgedLog; p++ {
		f.found(t, p, fmt.Sprintf("delete from annals.events where position = %d", p))
		f.found(t, p, fmt.Sprintf("delete from annals.events where position >= %d", p))
		f.found(t, p, fmt.Sprintf("delete from annals.events where position = %d; update annals.events set position = position - 1 where position > %d; delete from annals.log_head; insert into annals.log_head select true, position - 1, recorded_at, prev_hash, hash from kept_head", p, p)+
			// Without its last event the log is a good one; only the head gives that away.
			map[bool]string{true: "; update annals.log_head set position = position + 1"}[p == forgedLog])
		f.found(t, p, fmt.Sprintf("update annals.events set hash = prev_hash where position = %d", p))
	}
	for p := int64(1); p < forgedLog; p++ {
		f.found(t, p, fmt.Sprintf("update annals.events set position = -1 where position = %[1]d; update annals.events set position = %[1]d where position = %[1]d + 1; update annals.events set position = %[1]d + 1 where position = -1", p))
	}
	again := "insert into annals.events select %d, gen_random_uuid(), type, args, changes, actor, comment, batch, batch_index, schema_version, recorded_at, hash, hash from kept where position = 6"
	f.found(t, 7, fmt.Sprintf(again, 7))
	f.found(t, 7, fmt.Sprintf(again, 100))
	f.found(t, 1, fmt.Sprintf(again, 0))
	f.found(t, 1, fmt.Sprintf(again, -5))
}

func TestAnEventThatIsWellForgedBreaksTheLinkOfTheNext(t *testing.T) {
	f := newForger(t)
	// The forger computes the event's hash anew, over a digest of his own.
	f.found(t, 3, `update annals.events set type = 'forged', hash = annals.link(prev_hash, position, recorded_at, sha256('x')) where position = 3`)
	// He takes another event's content whole, with its hash, but for the place.
	f.found(t, 3, `update annals.events e set hash = k.hash, prev_hash = k.prev_hash from kept k where e.position = 3 and k.position = 4`)
}

func TestAHeadThatIsNotTheLastEventIsFound(t *testing.T) {
	f := newForger(t)
	f.exec(t, `alter table annals.log_head disable trigger all`)
	for position, forgery := range map[int64]string{
		7: `update annals.log_head set position = 7`,
		6: `update annals.log_head set hash = prev_hash`,
		1: `truncate annals.events`,
	} {
		t.Run(forgery, func(t *testing.T) {
			f.exec(t, forgery)
			report, err := f.store.Verify(t.Context(), eventstore.VerifyOptions{})
			require.NoError(t, err)
			require.False(t, report.OK)
			require.Equal(t, position, report.Position, report.Reason)
			f.exec(t, `truncate annals.events, annals.log_head; insert into annals.events select * from kept; insert into annals.log_head select * from kept_head`)
		})
	}
	f.found(t, 6, `update annals.log_head set position = 5`)
}

func TestVerifyingBeginsWhereItIsAskedTo(t *testing.T) {
	f := newForger(t)
	f.exec(t, `update annals.events set type = 'forged' where position = 2`)
	for from, good := range map[int64]bool{-1: false, 0: false, 1: false, 2: false, 3: true, 6: true, 7: true, 99: true} {
		report, err := f.store.Verify(t.Context(), eventstore.VerifyOptions{From: from})
		require.NoError(t, err)
		require.Equal(t, good, report.OK, "from %d: %s", from, report.Reason)
		if good {
			require.Equal(t, max(0, forgedLog+1-from), report.Events)
		}
	}
}

func TestVerifyingTellsHowFarItHasCome(t *testing.T) {
	store, _ := open(t)
	storetest.Append(t, store, storetest.NewEvents(eventstore.ProgressEvery+1)...)
	var told [][2]int64
	report, err := store.Verify(t.Context(), eventstore.VerifyOptions{Progress: func(done, total int64) {
		told = append(told, [2]int64{done, total})
	}})
	require.NoError(t, err)
	require.True(t, report.OK, report.Reason)
	n := int64(eventstore.ProgressEvery)
	require.Equal(t, [][2]int64{{n, n + 1}, {n + 1, n + 1}}, told)
}

func TestALogThatCannotBeReadIsAnErrorAndNotAReport(t *testing.T) {
	store, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := store.Verify(ctx, eventstore.VerifyOptions{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheDatabaseRefusesToChangeTheHistory(t *testing.T) {
	store, pool := open(t)
	e := storetest.NewEvent("e")
	e.Objects = []eventstore.Object{{Kind: "table", Key: "album"}}
	storetest.Append(t, store, e)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, role := range []string{"origin", "replica"} { // pgtest connects as a superuser: that is no help
		_, err := conn.Exec(t.Context(), "set session_replication_role = "+role)
		require.NoError(t, err)
		for _, statement := range []string{
			`update annals.events set comment = 'x'`,
			`update annals.events set comment = 'x' where position = 99`,
			`delete from annals.events`,
			`truncate annals.events`,
			`insert into annals.events select * from annals.events on conflict (position) do update set comment = 'x'`,
			`update annals.event_objects set key = 'x'`,
			`delete from annals.event_objects`,
			`truncate annals.event_objects`,
			`delete from annals.log_head`,
			`truncate annals.log_head`,
			`insert into annals.log_head select false, position, recorded_at, prev_hash, hash from annals.log_head`,
		} {
			_, err := conn.Exec(t.Context(), statement)
			var refused *pgconn.PgError
			require.ErrorAs(t, err, &refused, statement)
			require.Equal(t, "23001", refused.Code, statement) // restrict_violation
		}
	}
	require.EqualValues(t, 1, storetest.Verified(t, store).Position)
}
