-- Appends several events, one place in every array each, and says where they went.
select head_position, recorded_at, links
from annals.append_events(
  expected => $1, ids => $2, types => $3, args => $4, changes => $5, actors => $6, comments => $7,
  batches => $8, batch_indexes => $9, schema_versions => $10, digests => $11,
  object_events => $12, object_kinds => $13, object_keys => $14)
