-- How many deliveries of each lane are due or were, and how many seconds ago the first of those that wait fell due.
select lane, count(*)::float8,
  coalesce(extract(epoch from now() - min(available_at) filter (where available_at <= now())), 0)::float8
from annals.delivery_queue
where first_due_at <= now()
group by lane
