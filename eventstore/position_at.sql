-- Where the log ended at a time, which counts in microseconds: the last event recorded at or before it.
select annals.position_before($1::timestamptz + interval '1 microsecond')
