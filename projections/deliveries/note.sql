-- Notes a decision about a delivery.
insert into annals.delivery_log (delivery_id, entry, round, attempt, reason, position) values ($1, $2, $3, 0, $4, $5)
