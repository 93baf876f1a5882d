package metadata

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"annals/domain"
	"annals/domain/database"
)

// Watch is what has to be read of the user's database to follow a change of
// it: the tracked tables by their OIDs, which they keep when they are renamed,
// and by name what was not there before.
type Watch struct {
	// OIDs of the tracked tables; true for those whose rows are an enum's.
	OIDs map[uint32]bool
	// Names of tracked tables that were not there, and of all functions.
	Names Names
}

// Watch returns what [Follow] has to be given.
func (w World) Watch() Watch {
	watch := Watch{OIDs: map[uint32]bool{}}
	for t := range objects[Table](w.Catalog.OfKind(KindTable)) {
		if shape := w.Shape.Table(t.Name); shape != nil {
			watch.OIDs[shape.OID] = t.IsEnum
		} else {
			watch.Names = watch.Names.add(namesOfTable(t))
		}
	}
	names := w.Catalog.Names()
	watch.Names.Functions, watch.Names.Types = names.Functions, names.Types
	return watch
}

// Sight is what was found.
type Sight struct {
	// Tables maps the OIDs that were watched to what is there now, nil for a
	// table that was dropped.
	Tables map[uint32]*database.Table
	// Found is what the names stand for now.
	Found database.Found
}

// Follow makes the metadata fit the user's database after SQL changed it.
//
// A table or column with a new name is renamed wherever it is mentioned. A
// table or function that is gone is untracked with all that belongs to it;
// a table made anew under its name is another one. What else needs something
// that is gone is in the way: Follow refuses, unless cascade drops it too.
// Follow is a function of its arguments alone.
func Follow(w World, position int64, now Sight, cascade bool) (Decision, error) {
	f := newFollowing(w, position, now)
	for _, step := range []func() error{
		f.refuseOverloads,
		func() error { return f.drop(cascade) },
		f.refuseVolatile,
		f.refuseRetyped,
		f.rename,
	} {
		if err := step(); err != nil {
			return Decision{}, err
		}
	}
	return f.settle()
}

// following is one run of Follow. The scratch world goes from the world before
// to the world after, one step after the other, in the database's old shape.
type following struct {
	before   World
	scratch  World
	position int64
	now      Sight
	dropped  []domain.QualifiedName
	altered  []alteredTable
	// origins maps keys that objects have now to those they had before.
	origins map[Key]Key
}

// alteredTable is a table before and after.
type alteredTable struct{ old, new *database.Table }

// column returns what became of a column; nil when it was dropped.
func (a alteredTable) column(c database.Column) *database.Column {
	return find(a.new.Columns, func(n database.Column) bool { return n.Number == c.Number })
}

func (a alteredTable) droppedColumns() []string {
	var names []string
	for _, c := range a.old.Columns {
		if a.column(c) == nil {
			names = append(names, c.Name)
		}
	}
	return names
}

func (a alteredTable) addedColumns() []string {
	var names []string
	for _, n := range a.new.Columns {
		if !slices.ContainsFunc(a.old.Columns, func(c database.Column) bool { return c.Number == n.Number }) {
			names = append(names, n.Name)
		}
	}
	return names
}

// lost returns the needs that cannot be met any more: dropped columns and
// foreign keys.
func (a alteredTable) lost() []Need {
	var lost []Need
	for _, c := range a.old.Columns {
		now := a.column(c)
		if now == nil {
			lost = append(lost, needColumn(a.old.Name, c.Name))
		}
		if len(keysOn(a.old, c.Name)) > 0 && (now == nil || len(keysOn(a.new, now.Name)) == 0) {
			lost = append(lost, needForeignKey(a.old.Name, c.Name))
		}
	}
	return lost
}

func newFollowing(w World, position int64, now Sight) *following {
	f := &following{before: w, scratch: w, position: position, now: now, origins: map[Key]Key{}}
	for t := range objects[Table](w.Catalog.OfKind(KindTable)) {
		old := w.Shape.Table(t.Name)
		if old == nil {
			continue
		}
		switch seen, watched := now.Tables[old.OID]; {
		case !watched:
		case seen == nil:
			f.dropped = append(f.dropped, t.Name)
		default:
			f.altered = append(f.altered, alteredTable{old, seen})
		}
	}
	return f
}

// evolve applies changes to the scratch world.
func (f *following) evolve(changes []Change) { f.scratch = f.scratch.Evolve(f.position, changes) }

// functionUses yields each function that the catalog names, with the standing
// objects that are made of it: itself tracked, or computed fields.
func (f *following) functionUses(yield func(name domain.QualifiedName, user Object) bool) {
	names := slices.SortedFunc(maps.Keys(f.now.Found.Functions), byQualifiedName(func(n domain.QualifiedName) domain.QualifiedName { return n }))
	for _, name := range names {
		for key := range f.before.Standing.dependentsOf(needDatabaseFunction(name)) {
			madeOfIt := key.Kind == KindFunction || key.Kind == KindComputedField
			if madeOfIt && f.before.Standing.Stands(key) && !yield(name, f.before.Catalog.Get(key).Object()) {
				return
			}
		}
	}
}

// refuseOverloads: GraphQL calls a function by name alone.
func (f *following) refuseOverloads() error {
	var overloaded []string
	for name, user := range f.functionUses {
		if len(f.now.Found.Functions[name]) < 2 {
			continue
		}
		if field, ok := user.(ComputedField); ok {
			return refuse(domain.NotSupported, "The function %q associated with computed field %q of table %q is being overloaded",
				name, field.Name, field.Table)
		}
		overloaded = append(overloaded, name.String())
	}
	if len(overloaded) > 0 {
		return refuse(domain.NotSupported, "the following tracked function(s) cannot be overloaded: %s", strings.Join(overloaded, ", "))
	}
	return nil
}

// refuseVolatile: what GraphQL reads may not write.
func (f *following) refuseVolatile() error {
	for name, user := range f.functionUses {
		now := f.now.Found.Functions[name]
		if len(now) != 1 || now[0].Volatility != database.Volatile || wasVolatile(f.before.Shape.Functions(name)) {
			continue
		}
		switch user := user.(type) {
		case ComputedField:
			return refuse(domain.NotSupported, `The type of function %q associated with computed field %q of table %q is being altered to "VOLATILE"`,
				name, user.Name, user.Table)
		case Function:
			if user.Configuration.ExposedAs != exposedAsMutation {
				return refuse(domain.NotSupported, `type of function %q is altered to "VOLATILE" which is not supported now`, name)
			}
		}
	}
	return nil
}

func wasVolatile(overloads []*database.Function) bool {
	return len(overloads) == 1 && overloads[0].Volatility == database.Volatile
}

// drop untracks what is gone, and what else needs it.
func (f *following) drop(cascade bool) error {
	var gone []Key
	for _, table := range f.dropped {
		gone = append(gone, f.before.withOwn(table)...)
	}
	for name, user := range f.functionUses {
		if len(f.now.Found.Functions[name]) == 0 {
			gone = append(gone, user.Key())
		}
	}
	var lost []Need
	for _, a := range f.altered {
		lost = append(lost, a.lost()...)
	}
	others := f.before.dependents(gone, lost)
	if err := mayDrop(f.withStars(others), cascade); err != nil {
		return err
	}
	f.evolve(dropAll(f.before.Catalog, append(gone, droppable(others)...)))
	f.forgetColumns()
	return nil
}

// withStars adds the permissions for all columns of a table that lost one.
// They are worth a warning, as v1.3 has it, but never dropped: they stand, for
// the columns that are left.
func (f *following) withStars(others []Object) []Object {
	for _, a := range f.altered {
		if len(a.droppedColumns()) == 0 {
			continue
		}
		for p := range objects[Permission](f.before.Catalog.OfTable(KindPermission, a.old.Name)) {
			listed := slices.ContainsFunc(others, func(o Object) bool { return o.Key() == p.Key() })
			if p.hasAllColumns() && !listed && f.before.Standing.Stands(p.Key()) {
				others = append(others, p)
			}
		}
	}
	return sortedByText(others)
}

// forgetColumns takes the custom names of dropped columns away.
func (f *following) forgetColumns() {
	for _, a := range f.altered {
		t, ok := lookup[Table](f.scratch.Catalog, tableKey(a.old.Name))
		names := maps.Clone(t.Configuration.ColumnNames)
		for _, column := range a.droppedColumns() {
			delete(names, column)
		}
		if ok && len(names) < len(t.Configuration.ColumnNames) {
			if t.Configuration.ColumnNames = names; len(names) == 0 {
				t.Configuration.ColumnNames = nil
			}
			f.evolve(put(f.scratch.Catalog, t))
		}
	}
}

// refuseRetyped: a literal that is compared with a column has its type.
func (f *following) refuseRetyped() error {
	for _, a := range f.altered {
		for _, c := range a.old.Columns {
			now := a.column(c)
			if now == nil || now.Type == c.Type && now.Array == c.Array {
				continue
			}
			var users []Object
			for key := range f.scratch.Standing.dependentsOf(needColumnType(a.old.Name, c.Name)) {
				if f.scratch.Standing.Stands(key) {
					users = append(users, f.scratch.Catalog.Get(key).Object())
				}
			}
			if len(users) > 0 {
				return refuse(domain.DependencyError, "cannot change type of column %q in table %q because of the following dependencies : %s",
					c.Name, a.old.Name, joinObjects(sortedByText(users)))
			}
		}
	}
	return nil
}

// rename follows new names: of columns first, while their tables have their
// old names, then of tables.
func (f *following) rename() error {
	for _, a := range f.altered {
		if err := f.refuseTakenFields(a); err != nil {
			return err
		}
	}
	tables, err := f.tableRenames()
	if err != nil {
		return err
	}
	for _, a := range f.altered {
		for _, r := range columnRenames(a) {
			f.apply(r)
		}
	}
	for _, r := range tables {
		f.apply(r)
	}
	return nil
}

// refuseTakenFields: a column may not take the name of another field.
func (f *following) refuseTakenFields(a alteredTable) error {
	taken := func(name string) (what string, ok bool) {
		for _, kind := range fieldKinds {
			key := keyOf(kind, a.old.Name.Schema, a.old.Name.Name, name)
			if f.scratch.Catalog.Has(key) && f.scratch.Standing.Stands(key) {
				return strings.ReplaceAll(string(kind), "_", " "), true
			}
		}
		return "", false
	}
	for _, name := range a.addedColumns() {
		if what, ok := taken(name); ok {
			return refuse(domain.AlreadyExists, "cannot add column %q in table %q as a %s with the name already exists", name, a.new.Name, what)
		}
	}
	for _, c := range a.old.Columns {
		now := a.column(c)
		if now == nil || now.Name == c.Name {
			continue
		}
		if what, ok := taken(now.Name); ok {
			return refuse(domain.AlreadyExists, "cannot rename column %q to %q in table %q as a %s with the name already exists",
				c.Name, now.Name, a.new.Name, what)
		}
	}
	return nil
}

// A name that is still another's is reached by way of a name that nothing
// has: two names that were exchanged stay apart.
const onTheWay = "\U0010FFFD"

func columnRenames(a alteredTable) []Rename {
	var first, second []Rename
	for _, c := range a.old.Columns {
		now := a.column(c)
		if now == nil || now.Name == c.Name {
			continue
		}
		r := Rename{Table: a.old.Name, Column: c.Name, NewColumn: now.Name}
		if a.old.Column(now.Name) != nil {
			r.NewColumn = onTheWay + strconv.Itoa(int(c.Number))
			second = append(second, Rename{Table: a.old.Name, Column: r.NewColumn, NewColumn: now.Name})
		}
		first = append(first, r)
	}
	return append(first, second...)
}

func (f *following) tableRenames() ([]Rename, error) {
	leaving := map[domain.QualifiedName]bool{}
	for _, a := range f.altered {
		leaving[a.old.Name] = a.old.Name != a.new.Name
	}
	var first, second []Rename
	for _, a := range f.altered {
		if !leaving[a.old.Name] {
			continue
		}
		r := Rename{Table: a.old.Name, NewTable: a.new.Name}
		switch taken := f.scratch.Catalog.Has(tableKey(a.new.Name)); {
		case taken && !leaving[a.new.Name]:
			return nil, refuse(domain.AlreadyTracked, "cannot rename table %q to %q : view/table already tracked", a.old.Name, a.new.Name)
		case taken:
			r.NewTable.Name = onTheWay + strconv.Itoa(int(a.old.OID))
			second = append(second, Rename{Table: r.NewTable, NewTable: a.new.Name})
		}
		first = append(first, r)
	}
	return append(first, second...), nil
}

// apply renames in the scratch world: in its shape, and in every object that
// mentions what is renamed.
func (f *following) apply(r Rename) {
	r.world = f.scratch
	keys := []Key{tableKey(r.Table)}
	keys = append(keys, slices.Collect(f.scratch.Standing.dependentsOfTable(r.Table))...)
	slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.stored(), b.stored()) })
	var drops, puts []Change
	for _, key := range slices.Compact(keys) {
		o := f.scratch.Catalog.Get(key).Object().renamed(r)
		if o.Key() != key {
			drops = append(drops, drop(f.scratch.Catalog, key)...)
			f.origins[o.Key()] = f.origin(key)
		}
		puts = append(puts, put(f.scratch.Catalog, o)...)
	}
	f.scratch = f.scratch.WithShape(renamedShape(f.scratch, r))
	f.evolve(append(drops, puts...))
}

func (f *following) origin(key Key) Key {
	if before, ok := f.origins[key]; ok {
		return before
	}
	return key
}

// renamedShape is the reading that a rename alone would lead to.
func renamedShape(w World, r Rename) database.Found {
	found := database.Found{
		Tables:    map[domain.QualifiedName]*database.Table{},
		Functions: map[domain.QualifiedName][]*database.Function{},
	}
	if r.Column == "" {
		found.Tables[r.Table] = nil
	}
	for t := range objects[Table](w.Catalog.OfKind(KindTable)) {
		if shape := w.Shape.Table(t.Name); shape != nil && mentions(shape, r.Table) {
			renamed := r.shape(shape)
			found.Tables[renamed.Name] = renamed
		}
	}
	if r.Column != "" {
		return found
	}
	for _, name := range w.Catalog.Names().Functions {
		found.Functions[name] = r.functions(w.Shape.Functions(name))
	}
	return found
}

func mentions(t *database.Table, name domain.QualifiedName) bool {
	return t.Name == name || slices.ContainsFunc(t.ForeignKeys, func(k database.ForeignKey) bool { return k.To == name })
}

// shape returns a table's shape after the rename, as far as definitions are
// resolved by it.
func (r Rename) shape(t *database.Table) *database.Table {
	renamed := *t
	renamed.Name = r.table(t.Name)
	renamed.Columns = slices.Clone(t.Columns)
	for i, c := range t.Columns {
		renamed.Columns[i].Name = r.column(t.Name, c.Name)
	}
	if key := t.PrimaryKey; key != nil {
		renamed.PrimaryKey = &database.Constraint{Name: key.Name, Columns: r.columns(t.Name, key.Columns)}
	}
	renamed.ForeignKeys = slices.Clone(t.ForeignKeys)
	for i, k := range t.ForeignKeys {
		renamed.ForeignKeys[i] = database.ForeignKey{
			Name: k.Name, Columns: r.columns(t.Name, k.Columns), To: r.table(k.To), RefColumns: r.columns(k.To, k.RefColumns),
		}
	}
	return &renamed
}

func (r Rename) functions(overloads []*database.Function) []*database.Function {
	var renamed []*database.Function
	row := func(table *domain.QualifiedName) *domain.QualifiedName {
		if table == nil {
			return nil
		}
		name := r.table(*table)
		return &name
	}
	for _, f := range overloads {
		g := *f
		g.ReturnsTable = row(f.ReturnsTable)
		g.Arguments = slices.Clone(f.Arguments)
		for i := range g.Arguments {
			g.Arguments[i].Row = row(g.Arguments[i].Row)
		}
		renamed = append(renamed, &g)
	}
	return renamed
}

// settle makes the world after in one step from the world before, as the log
// will, and makes sure that nothing else has fallen.
func (f *following) settle() (Decision, error) {
	var changes []Change
	if f.scratch.Catalog != f.before.Catalog {
		changes = Difference(f.before.Catalog, f.scratch.Catalog)
	}
	after := f.before.WithShape(f.found()).Evolve(f.position, changes)
	if err := after.refuseClashes(changes); err != nil {
		return Decision{}, err
	}
	var fallen []Inconsistency
	for _, i := range after.Inconsistencies() {
		if old := f.before.Standing.index.get(f.origin(i.Key)); old == nil || old.reason == "" {
			fallen = append(fallen, i)
		}
	}
	if err := inconsistent(fallen, "cannot continue due to newly found inconsistent metadata", true); err != nil {
		return Decision{}, err
	}
	return Decision{changes, after, true}, nil
}

// found is the whole reading by names: those of before and those of now.
func (f *following) found() database.Found {
	found := f.now.Found
	found.Tables = map[domain.QualifiedName]*database.Table{}
	for _, name := range f.dropped {
		found.Tables[name] = nil
	}
	for _, a := range f.altered {
		found.Tables[a.old.Name] = nil
	}
	maps.Copy(found.Tables, f.now.Found.Tables)
	for _, a := range f.altered {
		found.Tables[a.new.Name] = a.new
	}
	return found
}
