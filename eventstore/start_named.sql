-- A named reader begins here, unless it is known already.
insert into annals.checkpoints (name, position) values ($1, $2) on conflict (name) do nothing
