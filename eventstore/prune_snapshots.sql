-- Drops all but the newest states.
delete from annals.snapshots
where position not in (select position from annals.snapshots order by position desc limit $1)
