// Package graphql tells GraphQL documents apart by what they ask for, not by
// how they are written.
//
// Documents that ask for the same have the same normal form, a [Form]:
//
//	makes no difference                     makes one
//	white space, commas, comments           an operation's type and name
//	__typename, at every depth              aliases, directives and their order
//	the order of arguments and input keys   literal values, defaults of variables
//	the order of variables                  the names of variables
//	the order of fields                     the order of a mutation's root fields
//	the order of definitions                definitions that nobody refers to
//	"text" or """text""", { or query {
//
// The root fields of a mutation are run one after the other, so that two orders
// of them are two mutations.
//
// A form is a hash of hashes, from the leaves up. It takes time proportional to
// the document's length, whatever its nesting, and has no text to be written
// back. The grammar is the business of gqlparser; which fields exist depends on
// who asks, and is not looked at.
//
// [ReadSchema] makes a type system of what another server answers to
// [IntrospectionQuery]. The other server is not trusted: what it says is bounded
// by [SchemaLimits], and holds together before anything is made of it.
package graphql
