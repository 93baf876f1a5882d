// Package api is the edge to those who ask over HTTP: the metadata API, GraphQL,
// also over websockets, the audit of the history, the config API and the
// service's own pulse.
//
// Each endpoint has a file of its own; [API.routes] is the list of them all.
// A request passes, from the outside in:
//
//	tell        request id, one log line, metrics      log.go, meters.go, pace.go
//	recover     a panic becomes "internal error"       recover.go
//	cors        other origins, preflights              cors.go
//	route       unknown, wrong method, disabled: 404   api.go
//	enter       who asks                               auth/
//	endpoint    what is asked
//	answer      JSON, gzip; errors as in errors.go     answer.go
//
// A path that is not served says 404 before anyone is asked who they are. An
// answer has its whole body before its first byte leaves, so a failure never
// leaves half a success behind. Secrets and query strings are never logged, and
// bodies only where [Config.LogQueries] asks for the text of GraphQL operations.
//
// What the edge needs of the service are the interfaces [Commands], [History]
// and [State]. Health is answered from memory: [API.Watch] looks at the
// database from time to time, no prober ever makes it do so.
//
// Package api holds no rule of the catalog. It does not listen either: that is
// left to who calls [API.Server].
package api
