-- What operators decide about deliveries: lanes that rest, and which command asked for a delivery.

-- A lane that is here is not claimed; what is due in it waits. Lanes are those of annals.delivery_queue.
create table annals.paused_lanes (
  lane   text primary key,
  reason text not null default '',
  since  timestamptz not null default clock_timestamp()
);

-- The place in the history of the command that asked for the delivery, or of the definition by which a fire was planned.
-- Null for a captured row change: the catalog it was captured under is the one of its time.
alter table annals.deliveries add column position bigint;

-- What a command asked for: the deliveries of one redelivery or cancellation.
create index delivery_log_position on annals.delivery_log (position) where position is not null;
