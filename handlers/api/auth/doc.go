// Package auth tells who asks: it turns the headers of a request into a
// session, or says why it does not.
//
// An [Authenticator] is one way of telling. [New] builds the chain that the
// settings ask for; each link answers, refuses, or has the next one asked:
//
//	nothing set        open:    the role header decides, admin without one
//	secret             right:   the role header decides, admin without one
//	                   wrong:   Denied
//	                   none:    the next link
//	secret, last link  unauthorized role set: that role; else Denied
//
// What always holds:
//
//   - A role header is believed only together with a right secret, or where
//     no secret exists.
//   - A secret is kept as a hash, compared in constant time, and never part
//     of a session.
//   - Headers are understood in both spellings, X-Service-* and X-Hasura-*;
//     ours wins where both are sent. A session knows only ours, in lower case.
//   - A header that must have one value and is given several different ones
//     is refused: a proxy in front may have looked at another of them.
//
// Package auth sends nothing and keeps no state between requests. It leaves
// to its callers how a refusal is shown, and what a role may do.
package auth
