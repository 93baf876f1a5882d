package eventstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"annals/eventstore"
	"annals/eventstore/storetest"
	"annals/migrations/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB) (*eventstore.Store, *pgxpool.Pool) {
	pool := pgtest.New(t).Pool
	return eventstore.New(pool, eventstore.Config{}), pool
}

func TestTheStoreKeepsTheContractOfALog(t *testing.T) { storetest.Run(t, open) }
