package facts_test

import (
	"testing"

	"annals/domain/database"
	"annals/handlers/command/facts"

	"github.com/stretchr/testify/require"
)

func TestKeysKeepTheOrderOfTheirColumns(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create table t (
			a int, b int, c int, d int,
			constraint the_key primary key (c, a) include (d),
			constraint z unique (b),
			constraint y unique (d, b),
			check (a > 0),
			exclude (a with =)
		);
		create unique index only_an_index on t (a)`)
	got := table(t, tx, "t")
	require.Equal(t, &database.Constraint{Name: "the_key", Columns: []string{"c", "a"}}, got.PrimaryKey)
	require.Equal(t, []database.Constraint{
		{Name: "y", Columns: []string{"d", "b"}},
		{Name: "z", Columns: []string{"b"}},
	}, got.UniqueKeys)
}

func TestAForeignKeyIsSeenFromBothEnds(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create schema shop;
		create table shop.artist (name text, country text, id int unique, primary key (name, country));
		create table album (
			id int primary key, artist_country text, artist text, owner int,
			constraint by_artist foreign key (artist_country, artist) references shop.artist (country, name),
			constraint by_id foreign key (owner) references shop.artist (id)
		);
		create table stray (owner int);
		insert into stray values (1);
		alter table stray add constraint unproved foreign key (owner) references shop.artist (id) not valid`)
	byArtist := database.ForeignKey{
		Name: "by_artist", Columns: []string{"artist_country", "artist"},
		To: named("shop", "artist"), RefColumns: []string{"country", "name"},
	}
	byID := database.ForeignKey{Name: "by_id", Columns: []string{"owner"}, To: named("shop", "artist"), RefColumns: []string{"id"}}
	unproved := byID
	unproved.Name = "unproved"

	require.Equal(t, []database.ForeignKey{byArtist, byID}, table(t, tx, "album").ForeignKeys)
	require.Equal(t, []database.ForeignKey{unproved}, table(t, tx, "stray").ForeignKeys, "an unvalidated key is a key")
	require.Empty(t, table(t, tx, "album").Referrers)

	referrers := []database.Referrer{
		{From: named("public", "album"), Key: byArtist},
		{From: named("public", "album"), Key: byID},
		{From: named("public", "stray"), Key: unproved},
	}
	artist := named("shop", "artist")
	alone := read(t, tx, facts.Wanted{Tables: append(public(), artist)})
	require.Equal(t, referrers, alone.Tables[artist].Referrers, "read alone")
	together := read(t, tx, facts.Wanted{Tables: append(public("album", "stray"), artist)})
	require.Equal(t, alone.Tables[artist], together.Tables[artist], "read with its neighbours")
	require.Equal(t, table(t, tx, "album"), together.Tables[named("public", "album")])
}

func TestATableRefersToItself(t *testing.T) {
	t.Parallel()
	tx := begin(t, `create table employee (id int primary key, manager int constraint reports_to references employee)`)
	got := table(t, tx, "employee")
	require.Len(t, got.ForeignKeys, 1)
	require.Equal(t, []database.Referrer{{From: got.Name, Key: got.ForeignKeys[0]}}, got.Referrers)
}

func TestAForeignKeyToAPartitionedTableIsOneKey(t *testing.T) {
	t.Parallel()
	tx := begin(t, `
		create table parted (id int primary key) partition by range (id);
		create table part_1 partition of parted for values from (0) to (10);
		create table part_2 partition of parted for values from (10) to (20);
		create table plain (parted int constraint to_parted references parted);
		create table spread (id int, plain int) partition by range (id);
		create table spread_1 partition of spread for values from (0) to (10);
		alter table plain add column id int primary key;
		alter table spread add constraint to_plain foreign key (plain) references plain (id)`)

	require.Len(t, table(t, tx, "plain").ForeignKeys, 1)
	require.Len(t, table(t, tx, "parted").Referrers, 1)
	require.Empty(t, table(t, tx, "part_1").Referrers, "nothing refers to a partition by itself")
	require.NotNil(t, table(t, tx, "part_1").PrimaryKey, "a partition has the keys of its parent")
	require.Len(t, table(t, tx, "spread").ForeignKeys, 1)
	require.Len(t, table(t, tx, "spread_1").ForeignKeys, 1)
	var from []string
	for _, r := range table(t, tx, "plain").Referrers {
		from = append(from, r.From.Name)
	}
	require.Equal(t, []string{"spread", "spread_1"}, from)
}
