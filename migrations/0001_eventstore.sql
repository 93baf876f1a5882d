-- The event log: what happened, in the order it was committed, never changed afterwards.
--
-- annals.log_head is the one row that every append locks: the last event's link in the chain. It hands out positions without
-- gaps, so a position is a commit order and "position > n" never skips. annals.events and annals.event_objects
-- only ever grow: triggers refuse everything but INSERT, also for the owner and on a replica.

create schema if not exists annals;

create table annals.log_head (
  only_row    boolean primary key default true,
  position    bigint not null,
  recorded_at timestamptz not null,
  prev_hash   bytea not null,
  hash        bytea not null
) with (fillfactor = 50); -- rewritten by every append: half the page is left for its next versions

insert into annals.log_head (position, recorded_at, prev_hash, hash)
values (0, '-infinity', '', decode(repeat('00', 32), 'hex'));

-- No check constraints: every statement parses them anew, which an append would feel. The store is the only writer, and
-- verifying the chain finds what it could not have written.
create table annals.events (
  position       bigint primary key,
  id             uuid not null unique,
  type           text not null,
  args           json not null, -- json, not jsonb: the hash covers the text as it was given
  changes        json not null,
  actor          json not null,
  comment        text,
  batch          uuid,
  batch_index    int,
  schema_version int not null,
  recorded_at    timestamptz not null default clock_timestamp(),
  prev_hash      bytea not null,
  hash           bytea not null
);

create index events_type on annals.events (type, position);
create index events_recorded_at on annals.events (recorded_at, position);

-- Which objects an event touched, as its writer named them: "the history of this object" is one index range.
create table annals.event_objects (
  kind     text not null,
  key      text not null,
  position bigint not null,
  primary key (kind, key, position)
);

-- How far a named reader of the log has come.
create table annals.checkpoints (
  name       text primary key,
  position   bigint not null check (position >= 0),
  updated_at timestamptz not null default now()
);

-- Folded state at older positions, so that looking back does not start at the beginning. May be thrown away.
create table annals.snapshots (
  position   bigint primary key check (position > 0),
  state      bytea not null,
  created_at timestamptz not null default now()
);

create function annals.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% on %.% is refused: the history is append-only', tg_op, tg_table_schema, tg_table_name
    using errcode = 'restrict_violation', hint = 'Append an event that undoes the earlier one.';
end
$$;

-- Statement triggers refuse a statement even if it would touch no row; row triggers see what reaches the rows on another
-- way, such as through a parent table. ALWAYS: a session that plays a replica is refused as well.
create trigger append_only before update or delete or truncate on annals.events
  for each statement execute function annals.refuse_change();
create trigger append_only_row before update or delete on annals.events
  for each row execute function annals.refuse_change();
create trigger append_only before update or delete or truncate on annals.event_objects
  for each statement execute function annals.refuse_change();
create trigger append_only_row before update or delete on annals.event_objects
  for each row execute function annals.refuse_change();
create trigger keep_head before insert or delete or truncate on annals.log_head
  for each statement execute function annals.refuse_change();

alter table annals.events enable always trigger append_only, enable always trigger append_only_row;
alter table annals.event_objects enable always trigger append_only, enable always trigger append_only_row;
alter table annals.log_head enable always trigger keep_head;

-- The hash of the event that follows prev_hash. The digest covers all that the event's writer knows (package chain makes it);
-- the database only links it to its place. Inlined where it is used.
create function annals.link(prev_hash bytea, "position" bigint, recorded_at timestamptz, digest bytea) returns bytea
language sql stable as $$
  select sha256(prev_hash || int8send("position") || timestamptz_send(recorded_at) || digest)
$$;

-- Appends several events as one step: lock the head, link and write each event, advance the head, hint the followers. (For one
-- event the store has a single statement that does the same in half the time.) One place in every array is one event.
--
-- An expected position that is not the head's writes nothing: recorded_at stays null, head_position says where the log ends.
-- The clock is read under the lock, and never goes back: times follow positions.
create function annals.append_events(
  expected bigint, -- null: wherever the log ends
  ids uuid[], types text[], args text[], changes text[], actors text[], comments text[],
  batches uuid[], batch_indexes int[], schema_versions int[], digests bytea[],
  object_events int[], object_kinds text[], object_keys text[], -- object_events counts the events of this call from 1
  out head_position bigint, -- before the call
  out recorded_at timestamptz,
  out links bytea[] -- the hash before the first event, then that of each event
) language plpgsql as $$
declare
  head annals.log_head;
  n    int := cardinality(ids);
begin
  select h.* into head from annals.log_head h where h.only_row for update;
  head_position := head.position;
  if expected <> head_position then
    return;
  end if;
  recorded_at := greatest(clock_timestamp(), head.recorded_at);
  links[1] := head.hash;
  for i in 1..n loop
    links[i + 1] := annals.link(links[i], head_position + i, recorded_at, digests[i]);
    insert into annals.events values (
      head_position + i, ids[i], types[i], args[i]::json, changes[i]::json, actors[i]::json, comments[i],
      batches[i], batch_indexes[i], schema_versions[i], recorded_at, links[i], links[i + 1]);
  end loop;
  update annals.log_head h
    set position = head_position + n, recorded_at = append_events.recorded_at, prev_hash = links[n], hash = links[n + 1]
    where h.only_row;
  insert into annals.event_objects
    select o.kind, o.key, head_position + o.event
    from unnest(object_events, object_kinds, object_keys) as o(event, kind, key);
  perform pg_notify('annals_events', (head_position + n)::text);
end
$$;
