-- A row whose json holds what PostgreSQL does not decode, such as \u0000 or half of a surrogate pair, is changed like any other. So
-- where members of a row's image are looked up, escapes of that form are hidden. A text that has none pays for looking, which costs a
-- microsecond, and for no more: that is why it is looked for in each place.

-- An image in which \u is \\u!annals!, and so means no character.
create function annals.capture_masked(image json) returns json
language plpgsql immutable as $$
begin
  return pg_catalog.regexp_replace(image::pg_catalog.text, '(?<!\\)((?:\\\\)*)\\u', '\1\\\\u!annals!', 'g')::pg_catalog.json;
end
$$;

create function annals.capture_unmasked(image json) returns json
language plpgsql immutable as $$
begin
  return pg_catalog.replace(image::pg_catalog.text, '\\u!annals!', '\u')::pg_catalog.json;
end
$$;

create or replace function annals.capture_image(image json, columns text[]) returns json
language sql immutable as $$
  select case when image::pg_catalog.text operator(pg_catalog.~~) '%\\u%'
    then annals.capture_unmasked(coalesce(pg_catalog.json_object_agg(m.key, m.value), '{}'))
    else coalesce(pg_catalog.json_object_agg(m.key, m.value), '{}')
  end
  from pg_catalog.json_each(
    case when image::pg_catalog.text operator(pg_catalog.~~) '%\\u%' then annals.capture_masked(image) else image end
  ) as m where m.key operator(pg_catalog.=) any (columns)
$$;

-- The value by which a row's deliveries are ordered. Not in plain SQL, which would stand in the place of its call, image and all.
create function annals.capture_key(image json, key text) returns text
language plpgsql immutable as $$
begin
  if image::pg_catalog.text operator(pg_catalog.~~) '%\\u%' then
    image := annals.capture_masked(image);
  end if;
  return image operator(pg_catalog.->>) key;
end
$$;

revoke all on function annals.capture_masked(json), annals.capture_unmasked(json), annals.capture_key(json, text) from public;
