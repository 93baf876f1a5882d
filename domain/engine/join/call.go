// Package join joins fields of remote schemas to rows of the database.
//
// A [Call] is one remote field of an operation, with places for the join keys
// in its text. While the answer is written from rows, each row that has such a
// field leaves a hole in the answer and its key in [Needs]:
//
//	rows -> answer with holes, keys       Needs.Add, once for each row
//	keys -> documents                     Needs.Requests, equal keys once, one document for each remote
//	what the remotes answered             Needs.Take, or Needs.Fail
//	answer with values                    Needs.Weave
//
// So rows, connections and transactions are let go before a remote is asked,
// and a remote is asked once, however many rows there are: its document holds
// one aliased field for each key, cut into batches where there are too many.
// Keys come from rows, in columns that are selected for them alone; what a
// client calls its fields means nothing here.
//
// The documents are spelled as v1.3 spells them: the remote's errors name
// places in them, and reach the client.
//
// Package join does no IO: whoever runs the operation carries documents out
// and answers back.
package join

// Call is one remote field of an operation, as it is asked for each row.
type Call struct {
	// Remote is the name of the remote schema.
	Remote string
	// Name is what the aliases of the call begin with: the keys of the answer
	// that lead to the field, joined by underscores.
	Name string
	// Text is the field with its arguments and its selection.
	Text Text
	// Within leads from what the remote's root field answers to the joined
	// value: the names of fields. Lists on the way are followed item by item.
	Within []string
	// Variables are those that the text refers to.
	Variables []Variable
	// NullOnError answers null where the remote fails, instead of failing with it.
	NullOnError bool
}

// Variable is a variable of the operation that is handed on to the remote, with
// its definition, such as "$id: Int! = 1".
type Variable struct{ Name, Definition string }

// Text is GraphQL text with places for join keys.
type Text []Part

// Part is a piece of text, followed by a join key: Key-1 is its number; 0 is
// none.
type Part struct {
	Text string
	Key  int
}

// Lit appends text.
func (t Text) Lit(text string) Text {
	if n := len(t); n > 0 && t[n-1].Key == 0 {
		t[n-1].Text += text
		return t
	}
	return append(t, Part{Text: text})
}

// Put appends the place of join key n.
func (t Text) Put(n int) Text {
	t = t.Lit("")
	t[len(t)-1].Key = n + 1
	return t
}

// Concat appends another text.
func (t Text) Concat(other Text) Text {
	for _, p := range other {
		if t = t.Lit(p.Text); p.Key > 0 {
			t = t.Put(p.Key - 1)
		}
	}
	return t
}

// append writes the text, which is escaped, with the literals of a key in their
// places.
func (t Text) append(b []byte, key Key) []byte {
	for _, p := range t {
		b = append(b, p.Text...)
		if p.Key > 0 {
			b = escaped(b, key.literal(p.Key-1))
		}
	}
	return b
}
