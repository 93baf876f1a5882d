-- The nearest state that is not later than a position.
select position, state from annals.snapshots where position <= $1 order by position desc limit 1
