-- What has become of the events that one command redelivered.
select s.state, count(*) from annals.delivery_log l
join annals.delivery_states s on s.id = l.delivery_id
where l.position = $1 and l.entry = 'redelivery'
group by s.state order by s.state
