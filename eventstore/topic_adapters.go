package eventstore

import (
	"database/sql"
	_ "embed"
	"errors"

	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
)

// topicSchema shows watermill-sql the table of events. watermill-sql joins the
// queries of its two adapters into one; here the offsets give a whole statement,
// because what is fastest differs between them.
type topicSchema struct{ batch int }

func (t topicSchema) SelectQuery(p wsql.SelectQueryParams) (wsql.Query, error) {
	next, err := p.OffsetsAdapter.NextOffsetQuery(wsql.NextOffsetQueryParams{Topic: p.Topic, ConsumerGroup: p.ConsumerGroup})
	if err != nil {
		return wsql.Query{}, err
	}
	// pgx takes its options from the front of the arguments.
	next.Args = append([]any{binaryResults()}, append(next.Args, t.batch)...)
	return next, nil
}

func (topicSchema) UnmarshalMessage(p wsql.UnmarshalMessageParams) (wsql.Row, error) {
	raw, ok := p.Row.(interface{ RawValues() [][]byte })
	if !ok {
		return wsql.Row{}, errors.New("the log was not read by pgx")
	}
	recorded, err := parseRecorded(raw.RawValues())
	if err != nil {
		return wsql.Row{}, err
	}
	msg, err := newMessage(&recorded)
	return wsql.Row{Offset: recorded.Position, Msg: msg}, err
}

// SubscribeIsolationLevel is explicit, because watermill-sql takes the default
// for serializable. The checkpoint's lock must show its newest version.
func (topicSchema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelReadCommitted }

func (topicSchema) InsertQuery(wsql.InsertQueryParams) (wsql.Query, error) {
	return wsql.Query{}, errors.New("the log is not published to: events are appended")
}

func (topicSchema) SchemaInitializingQueries(wsql.SchemaInitializingQueriesParams) ([]wsql.Query, error) {
	return nil, nil // migrations made the table
}

//go:embed subscribe_named.sql
var subscribeNamedSQL string

//go:embed start_named.sql
var startNamedSQL string

// namedOffsets keep a position in annals.checkpoints.
type namedOffsets struct {
	name  string
	after int64
}

func (o namedOffsets) BeforeSubscribingQueries(wsql.BeforeSubscribingQueriesParams) ([]wsql.Query, error) {
	return []wsql.Query{{Query: startNamedSQL, Args: []any{o.name, o.after}}}, nil
}

func (o namedOffsets) NextOffsetQuery(wsql.NextOffsetQueryParams) (wsql.Query, error) {
	return wsql.Query{Query: subscribeNamedSQL, Args: []any{o.name}}, nil
}

// AckMessageQuery moves to the last row that was acked, wherever the batch ends.
func (o namedOffsets) AckMessageQuery(p wsql.AckMessageQueryParams) (wsql.Query, error) {
	return wsql.Query{Query: saveCheckpointSQL, Args: []any{o.name, p.LastRow.Offset}}, nil
}

func (namedOffsets) ConsumedMessageQuery(wsql.ConsumedMessageQueryParams) (wsql.Query, error) {
	return wsql.Query{}, nil
}

func (namedOffsets) SchemaInitializingQueries(wsql.OffsetsSchemaInitializingQueriesParams) ([]wsql.Query, error) {
	return nil, nil
}

// memoryOffsets keep a position in memory, for one subscription, whose goroutine
// alone calls them.
type memoryOffsets struct{ position int64 }

func (*memoryOffsets) BeforeSubscribingQueries(wsql.BeforeSubscribingQueriesParams) ([]wsql.Query, error) {
	return nil, nil
}

func (o *memoryOffsets) NextOffsetQuery(wsql.NextOffsetQueryParams) (wsql.Query, error) {
	return wsql.Query{Query: readSQL, Args: []any{o.position}}, nil
}

func (o *memoryOffsets) AckMessageQuery(p wsql.AckMessageQueryParams) (wsql.Query, error) {
	o.position = p.LastRow.Offset
	return wsql.Query{Query: "select"}, nil // watermill-sql runs what it is given
}

func (*memoryOffsets) ConsumedMessageQuery(wsql.ConsumedMessageQueryParams) (wsql.Query, error) {
	return wsql.Query{}, nil
}

func (*memoryOffsets) SchemaInitializingQueries(wsql.OffsetsSchemaInitializingQueriesParams) ([]wsql.Query, error) {
	return nil, nil
}
