-- A named reader has come this far.
insert into annals.checkpoints (name, position) values ($1, $2)
on conflict (name) do update set position = excluded.position, updated_at = excluded.updated_at
