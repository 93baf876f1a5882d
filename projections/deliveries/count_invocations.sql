-- How many attempts at deliveries of some kinds there are.
select count(*) from annals.delivery_log l join annals.deliveries d on d.id = l.delivery_id
where l.entry = 'attempt' and d.kind = any($1) and ($2 = '' or d.trigger = $2) and ($3::uuid is null or l.delivery_id = $3)
