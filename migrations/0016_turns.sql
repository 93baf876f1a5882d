-- What a claim costs: it wrote a new version of each row to another page, and two index entries, since the end of the lease was in
-- the index by which claims look. Now claims look by a time that a lease does not touch, and each page has room for its next versions.

-- From when on a delivery is due: its place in its lane. What is leased keeps it, and is passed over.
alter table annals.delivery_queue add column turn_at timestamptz not null default now();

update annals.delivery_queue set turn_at = case when leased_by is null then available_at else least(available_at, now()) end;

alter table annals.delivery_queue set (fillfactor = 50);

create index delivery_queue_turn on annals.delivery_queue (lane, turn_at, delivery_id);

drop index annals.delivery_queue_due;

-- Ids are handed out to a session many at a time.
alter sequence annals.delivery_ids cache 128;
