-- How many fires of a cron trigger, or one-off events ($1, $2; their lane is $4), are in some states. What is neither queued nor
-- went wrong was delivered.
with total as (
  select count(*) as n from annals.deliveries d where d.kind = $1 and d.trigger = $2
), queued as (
  select count(*) as n, count(*) filter (where (case
    when q.leased_by is not null and q.available_at > clock_timestamp() then 'leased'
    when q.tries > 0 then 'retrying'
    else 'pending' end) = any($3)) as wanted
  from annals.delivery_queue q where q.lane = $4
), wrong as (
  select count(*) as n, count(*) filter (where coalesce(last.outcome, last.entry) = any($3)) as wanted
  from (
    select distinct l.delivery_id as id from annals.delivery_log l where l.outcome = 'failed' or l.entry <> 'attempt'
  ) few
  join annals.deliveries d on d.id = few.id and d.kind = $1 and d.trigger = $2
  cross join lateral (
    select l.entry, l.outcome from annals.delivery_log l where l.delivery_id = d.id order by l.recorded_at desc limit 1
  ) last
  where coalesce(last.outcome, last.entry) in ('failed', 'dropped', 'cancelled')
    and not exists (select from annals.queued(d.id, d.kind, d.trigger, d.due_at))
)
select case when $3::text[] is null then (select n from total) else
  case when $3 && '{pending,retrying,leased}' then (select wanted from queued) else 0 end
  + case when $3 && '{failed,dropped,cancelled}' then (select wanted from wrong) else 0 end
  + case when $3 && '{delivered}' then (select n from total) - (select n from queued) - (select n from wrong) else 0 end
end
