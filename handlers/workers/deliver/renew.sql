-- Makes a lease end in so many seconds ($5) from now. Affects no row when it is not held any more.
update annals.delivery_queue set available_at = clock_timestamp() + make_interval(secs => $5::float8)
where lane = $6 and turn_at = $7 and delivery_id = $1 and lease = $2 and round = $3 and leased_by = $4
