-- What has become of a delivery, read from its history: see projections/deliveries.

-- The state is pending, retrying or leased while the delivery is queued; then what its last round ended with: delivered, failed,
-- dropped or cancelled. The tries are those of the last round.
create view annals.delivery_states as
select d.id, d.kind, d.trigger, d.schema_name, d.table_name, d.payload, d.definition, d.due_at, d.created_at, d.position,
  case
    when q.delivery_id is null then case last.entry when 'attempt' then last.outcome else coalesce(last.entry, 'unknown') end
    when q.leased_by is not null and q.available_at > pg_catalog.clock_timestamp() then 'leased'
    when q.tries > 0 then 'retrying'
    else 'pending'
  end as state,
  coalesce(q.round, last.round, 1) as round,
  coalesce(q.tries, (select max(l.attempt) from annals.delivery_log l where l.delivery_id = d.id and l.round = last.round), 0) as tries,
  q.available_at, q.lane,
  last.reason,
  (select l.status from annals.delivery_log l where l.delivery_id = d.id and l.entry = 'attempt' order by l.recorded_at desc limit 1) as status
from annals.deliveries d
left join annals.delivery_queue q on q.delivery_id = d.id
left join lateral (
  select l.entry, l.outcome, l.round, l.reason from annals.delivery_log l
  where l.delivery_id = d.id order by l.recorded_at desc limit 1
) last on true;
