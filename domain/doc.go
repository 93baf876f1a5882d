// Package domain holds the words that the whole service shares: a refusal,
// a qualified name, a header to send, a session, an actor.
//
// Everything under domain is decided from values alone. No package here does
// IO, reads a clock or takes a context; what such a decision needs to know of
// the world arrives as an argument.
package domain
