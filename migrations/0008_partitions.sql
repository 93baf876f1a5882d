-- What keeps a row of the log beyond the usual: a failure, or a decision. Retention looks for these, and never at the rest.
create index delivery_log_notable on annals.delivery_log (delivery_id) where outcome = 'failed' or entry <> 'attempt';
