-- How many events a filter of redeliver_events finds, counted up to a limit.
select count(*) from annals.events_over($1, $2, $3, $4, $5, $6)
