-- Keeps the state at a position; a later one for the same position wins.
insert into annals.snapshots (position, state) values ($1, $2)
on conflict (position) do update set state = excluded.state, created_at = excluded.created_at
