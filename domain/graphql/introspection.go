package graphql

import _ "embed"

//go:embed introspection.graphql
var introspectionQuery string

// IntrospectionQuery asks a server for all of its types. It is the query that
// every server's tools send, so that no server is surprised by it.
func IntrospectionQuery() string { return introspectionQuery }
