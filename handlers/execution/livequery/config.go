package livequery

import (
	"cmp"
	"time"
)

// Config is how live queries are kept up. Zero is the default of each.
type Config struct {
	// Interval is the time between two looks at the same answer.
	Interval time.Duration
	// BatchSize is how many cohorts are asked for by one statement.
	BatchSize int
	// MaxSubscribers is how many subscriptions this node keeps.
	MaxSubscribers int
	// MaxConnections is how many connections to the database are used at once.
	MaxConnections int
}

// The defaults of [Config].
const (
	DefaultInterval       = time.Second
	DefaultBatchSize      = 100
	DefaultMaxSubscribers = 50_000
	DefaultMaxConnections = 8
)

func (c Config) withDefaults() Config {
	return Config{
		Interval:       cmp.Or(c.Interval, DefaultInterval),
		BatchSize:      cmp.Or(c.BatchSize, DefaultBatchSize),
		MaxSubscribers: cmp.Or(c.MaxSubscribers, DefaultMaxSubscribers),
		MaxConnections: cmp.Or(c.MaxConnections, DefaultMaxConnections),
	}
}
