-- append_one.sql for an event that names objects. The other leaves them out: a table opened for nothing is felt there.
with head as (
  update annals.log_head
  set position = position + 1, recorded_at = greatest(statement_timestamp(), recorded_at), prev_hash = hash,
    hash = annals.link(hash, position + 1, greatest(statement_timestamp(), recorded_at), $2)
  where only_row and ($1::bigint is null or position = $1)
  returning position, recorded_at, prev_hash, hash
), objects as (
  insert into annals.event_objects (kind, key, position)
  select o.kind, o.key, head.position from head, unnest($13::text[], $14::text[]) as o(kind, key)
)
insert into annals.events
  (position, id, type, args, changes, actor, comment, batch, batch_index, schema_version, recorded_at, prev_hash, hash)
select position, $3::uuid, $4, $5::json, $6::json, $7::json, $8, $9::uuid, $10::int, $11::int, recorded_at, prev_hash, hash
from head
returning position, recorded_at, prev_hash, hash, case when $12::boolean then pg_notify('annals_events', position::text) end
