-- What an append writes: nobody looks an event up by its id, and times follow positions, so a time is found among the positions.
alter table annals.events drop constraint events_id_key;

drop index annals.events_recorded_at;

-- The last event recorded before a time, 0 if there is none.
create function annals.position_before(at timestamptz) returns bigint language plpgsql stable as $$
declare
  before bigint := 0;
  after  bigint; -- recorded at that time or later, or not at all
  middle bigint;
begin
  select coalesce(max(e.position), 0) + 1 into after from annals.events e;
  while after - before > 1 loop
    middle := (before + after) / 2;
    if exists (select from annals.events e where e.position = middle and e.recorded_at < at) then
      before := middle;
    else
      after := middle;
    end if;
  end loop;
  return before;
end
$$;
