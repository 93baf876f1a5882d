-- Appends one event if the log ends where it is expected to, and says where the event went; no row if the log ends elsewhere.
-- One round trip and one plan, because this is how most events are written. An UPDATE that has waited for the head's lock
-- evaluates both its condition and what it sets anew, with the head as it is then.
-- The time is the statement's, not the clock's, which would read differently the second time; it never goes back.
-- $12: whether the commit wakes the followers.
with head as (
  update annals.log_head
  set position = position + 1, recorded_at = greatest(statement_timestamp(), recorded_at), prev_hash = hash,
    hash = annals.link(hash, position + 1, greatest(statement_timestamp(), recorded_at), $2)
  where only_row and ($1::bigint is null or position = $1)
  returning position, recorded_at, prev_hash, hash
)
insert into annals.events
  (position, id, type, args, changes, actor, comment, batch, batch_index, schema_version, recorded_at, prev_hash, hash)
select position, $3::uuid, $4, $5::json, $6::json, $7::json, $8, $9::uuid, $10::int, $11::int, recorded_at, prev_hash, hash
from head
returning position, recorded_at, prev_hash, hash, case when $12::boolean then pg_notify('annals_events', position::text) end
