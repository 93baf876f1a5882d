package deliver_test

import (
	"net/http"
	"testing"
	"time"

	"annals/handlers/workers/deliver"
)

// BenchmarkDrain delivers a backlog to an endpoint that answers at once.
func BenchmarkDrain(b *testing.B) {
	h := newHouse(b)
	h.trigger("fast", hook(b, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), "")
	h.exec(`with d as (
		insert into annals.deliveries (id, kind, trigger, schema_name, table_name, payload, due_at)
		select gen_random_uuid(), 'manual', 'fast', 'public', 't', '{"op":"INSERT","data":{"old":null,"new":{"id":1,"note":"a small note of ordinary length"}}}', clock_timestamp()
		from generate_series(1, $1) returning id, due_at)
		insert into annals.delivery_queue (delivery_id, first_due_at, lane, available_at) select id, due_at, 'event:fast', due_at from d`, b.N)
	b.ResetTimer()
	started := time.Now()
	h.work(deliver.Config{})
	h.empty()
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "deliveries/s")
	h.eventually(b.N, `select count(*) from annals.delivery_log where outcome = 'delivered'`)
}
