-- The whole catalog, with the position of the history that it stands at.
select kind, key, definition::text, position from annals.catalog
