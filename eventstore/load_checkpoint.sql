-- How far a named reader has come.
select position from annals.checkpoints where name = $1
