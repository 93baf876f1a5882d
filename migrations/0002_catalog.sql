-- The catalog as it is now, one row an object. It is a projection of
-- annals.events, kept in the transaction of each append, so that it always
-- stands at the head of the history: a start reads these rows instead of the
-- log, and plain SQL can ask them. A rebuild gives the same rows to the byte.

create table annals.catalog (
    kind       text   not null,
    key        text   not null,
    -- json, not jsonb: the bytes are those of the change that put it here
    definition json   not null,
    -- of the last change of the object
    position   bigint not null,
    primary key (kind, key)
);
