// Package auth tells who asks: it turns the headers of a request into a
// session, or says why it does not.
//
// An [Authenticator] is one way of telling. [New] builds the [Chain] that the
// settings ask for; each link answers, refuses, or has the next one asked:
//
//	nothing set        open:    the role header decides, admin without one
//	secret             right:   the role header decides, admin without one
//	                   wrong:   Denied
//	                   none:    the next link
//	webhook            the operator's service says who it is
//	JWT                token:   good, and one of its roles asked for: that role; else refused
//	                   none:    unauthorized role set: that role; else refused
//	secret, last link  unauthorized role set: that role; else Denied
//
// What always holds:
//
//   - A role header is believed only together with a right secret, or where
//     no secret exists. Beside a token it chooses among the token's roles.
//   - A secret is kept as a hash, compared in constant time, and never part
//     of a session.
//   - Which algorithms verify a token follows from the key, never from the
//     token; nothing of a token is believed before its signature is found good.
//   - A token that is not good is refused. It never becomes the unauthorized role.
//   - Headers are understood in both spellings, X-Service-* and X-Hasura-*;
//     ours wins where both are sent. A session knows only ours, in lower case.
//   - A header that must have one value and is given several different ones
//     is refused: a proxy in front may have looked at another of them.
//   - Calls leave only for the URLs of the settings; no redirect is followed,
//     and time and size are limited.
//
// Between requests, package auth keeps only the keys that [Chain.Run] fetches,
// and hashes of the secrets in a file that it follows.
// It leaves to its callers how a refusal is shown, what a role may do, and to
// close what outlives [Caller.Expires].
package auth
