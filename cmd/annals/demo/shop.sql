-- A small music shop. The artists, their albums and the customers are made up.

create table artists (
	id   integer primary key,
	name text not null unique
);

create table albums (
	id        integer primary key,
	artist_id integer not null references artists,
	title     text not null,
	released  date not null
);
create index on albums (artist_id);

create table tracks (
	id       integer primary key,
	album_id integer not null references albums,
	number   integer not null,
	title    text not null,
	seconds  integer not null check (seconds > 0),
	price    numeric(6, 2) not null default 0.99,
	unique (album_id, number)
);

create table customers (
	id      integer primary key,
	name    text not null,
	email   text not null unique,
	country text not null
);

create table invoices (
	id          integer primary key,
	customer_id integer not null references customers,
	issued_on   date not null,
	paid        boolean not null default false
);
create index on invoices (customer_id);

create table invoice_lines (
	invoice_id integer not null references invoices,
	track_id   integer not null references tracks,
	price      numeric(6, 2) not null,
	primary key (invoice_id, track_id)
);
create index on invoice_lines (track_id);

insert into artists values
	(1, 'The Paper Lanterns'), (2, 'Marta Quill'), (3, 'Slow Harbour');

insert into albums values
	(1, 1, 'Rooms Without Clocks', '2019-03-08'), (2, 1, 'Second Weather', '2022-10-14'),
	(3, 2, 'Letters to the Ferryman', '2021-05-21'), (4, 3, 'Low Tide', '2024-01-26');

insert into tracks (id, album_id, number, title, seconds, price) values
	(1, 1, 1, 'Hallway', 214, 0.99), (2, 1, 2, 'Blue Kitchen', 187, 0.99), (3, 1, 3, 'Attic Radio', 305, 1.29),
	(4, 2, 1, 'Barometer', 241, 0.99), (5, 2, 2, 'Rain on Tuesday', 198, 0.99),
	(6, 3, 1, 'The Coin', 262, 1.29), (7, 3, 2, 'Oars', 223, 0.99), (8, 3, 3, 'The Other Bank', 417, 1.29),
	(9, 4, 1, 'Mooring', 276, 0.99), (10, 4, 2, 'Salt', 203, 0.99), (11, 4, 3, 'Gulls', 158, 0.79);

insert into customers values
	(1, 'Ines Okafor', 'ines@example.org', 'Portugal'), (2, 'Jonas Lindqvist', 'jonas@example.org', 'Sweden'),
	(3, 'Mei Tanaka', 'mei@example.org', 'Japan');

insert into invoices values
	(1, 1, '2025-11-03', true), (2, 1, '2026-01-17', false), (3, 2, '2025-12-24', true), (4, 3, '2026-02-09', false);

insert into invoice_lines values
	(1, 1, 0.99), (1, 2, 0.99), (1, 3, 1.29), (2, 8, 1.29), (3, 6, 1.29), (3, 7, 0.99), (4, 9, 0.99), (4, 11, 0.79);
