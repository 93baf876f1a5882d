package metadata

import (
	"encoding/json"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"annals/domain"
	"annals/domain/graphql"
	"annals/domain/wire"
)

var remoteSchemaSubject = subject{
	kind: KindRemoteSchema, decode: decodeStoredRemoteSchema,
	created: "remote_schema_added", changed: "remote_schema_changed", dropped: "remote_schema_removed",
}

var remoteSchemaOperations = []operation{
	{"add_remote_schema", 1, decodeAddRemoteSchema},
	{"remove_remote_schema", 1, decodeRemoveRemoteSchema},
	{"reload_remote_schema", 1, decodeReloadRemoteSchema},
	{"introspect_remote_schema", 1, decodeIntrospectRemoteSchema},
}

// RemoteSchema is a GraphQL server whose schema is fitted into ours. What the
// server answered to the introspection query is part of the definition: a
// replay asks no server.
type RemoteSchema struct {
	Name          string                 `json:"name"`
	Definition    RemoteSchemaDefinition `json:"definition"`
	Comment       *string                `json:"comment,omitzero"`
	Introspection json.RawMessage        `json:"introspection,omitzero"`

	view  func() *introspection
	types func() (*ast.Schema, error)
}

// RemoteSchemaDefinition says where the server is and how it is asked.
// Exactly one of URL, a template, and URLFromEnv is given in one that stands.
type RemoteSchemaDefinition struct {
	URL                  *string  `json:"url,omitzero"`
	URLFromEnv           *string  `json:"url_from_env,omitzero"`
	TimeoutSeconds       *int     `json:"timeout_seconds,omitzero"`
	Headers              []Header `json:"headers,omitzero"`
	ForwardClientHeaders bool     `json:"forward_client_headers,omitzero"`
}

// defaultRemoteTimeout is how long a remote server may take to answer when its
// definition does not say.
const defaultRemoteTimeout = 60 * time.Second

// RemoteEndpoint is a remote schema's definition with the values of the
// environment in it.
type RemoteEndpoint struct {
	URL     string
	Headers []HeaderValue
	Timeout time.Duration
}

// Resolve looks up what the definition takes from the environment. It refuses
// a definition that says no address, or two, or one that is none.
func (d RemoteSchemaDefinition) Resolve(env Environment) (RemoteEndpoint, error) {
	address, err := d.address(env)
	if err != nil {
		return RemoteEndpoint{}, err
	}
	if !isHTTP(address) {
		return RemoteEndpoint{}, refuse(domain.InvalidParams, "not a valid URI: %s", address)
	}
	headers, err := ResolveHeaders(d.Headers, env)
	if err != nil {
		return RemoteEndpoint{}, err
	}
	timeout := defaultRemoteTimeout
	if d.TimeoutSeconds != nil {
		timeout = time.Duration(*d.TimeoutSeconds) * time.Second
	}
	return RemoteEndpoint{address, headers, timeout}, nil
}

func (d RemoteSchemaDefinition) address(env Environment) (string, error) {
	switch {
	case d.URL == nil && d.URLFromEnv == nil:
		return "", refuse(domain.InvalidParams, "both `url` and `url_from_env` can't be empty")
	case d.URL != nil && d.URLFromEnv != nil:
		return "", refuse(domain.InvalidParams, "both `url` and `url_from_env` can't be present")
	case d.URL != nil:
		return ResolveURL(*d.URL, env)
	}
	address, ok := env[*d.URLFromEnv]
	if !ok {
		return "", refuse(domain.InvalidParams, "environment variable '%s' not set", *d.URLFromEnv)
	}
	return address, nil
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func remoteSchemaKey(name string) Key { return keyOf(KindRemoteSchema, name) }

// Key implements [Object].
func (s RemoteSchema) Key() Key { return remoteSchemaKey(s.Name) }

func (s RemoteSchema) String() string { return "remote schema " + s.Name }

func (s RemoteSchema) resolve(r *resolver) {
	if _, err := s.Definition.Resolve(r.world.Env); err != nil {
		r.failAs(err)
	}
	if s.Introspection == nil {
		r.fail("the schema of the remote server has not been read")
		return
	}
	if _, err := s.Schema(); err != nil {
		r.failAs(err)
	}
}

func (s RemoteSchema) described() description {
	type definition struct {
		URL                  *string   `json:"url"`
		URLFromEnv           *string   `json:"url_from_env"`
		Headers              *[]Header `json:"headers"`
		ForwardClientHeaders bool      `json:"forward_client_headers"`
		TimeoutSeconds       *int      `json:"timeout_seconds"`
	}
	d := definition{URL: s.Definition.URL, URLFromEnv: s.Definition.URLFromEnv,
		ForwardClientHeaders: s.Definition.ForwardClientHeaders, TimeoutSeconds: s.Definition.TimeoutSeconds}
	if s.Definition.Headers != nil {
		d.Headers = &s.Definition.Headers
	}
	return description{"remote_schema", struct {
		Name       string     `json:"name"`
		Definition definition `json:"definition"`
		Comment    *string    `json:"comment"`
	}{s.Name, d, s.Comment}}
}

func (s RemoteSchema) exported() any {
	return struct {
		Name       string                 `json:"name"`
		Definition RemoteSchemaDefinition `json:"definition"`
		Comment    *string                `json:"comment,omitzero"`
	}{s.Name, s.Definition, s.Comment}
}

func (s RemoteSchema) renamed(Rename) Object { return s }

// SameDefinition reports whether another definition asks the same server in
// the same way, so that what was read of it holds for both.
func (s RemoteSchema) SameDefinition(other RemoteSchema) bool {
	return string(encode(s.exported())) == string(encode(other.exported()))
}

// WithIntrospection returns the schema with what its server answered to the
// introspection query: {"data":{"__schema":...}}, or what stands in data.
func (s RemoteSchema) WithIntrospection(raw json.RawMessage) RemoteSchema {
	s.Introspection = slices.Clone(raw)
	s.view, s.types = viewOnce(s.Introspection), schemaOnce(s.Introspection)
	return s
}

// schemaOnce reads an introspection when it is first asked for. What was taken
// once is read whatever the limits are now.
func schemaOnce(raw json.RawMessage) func() (*ast.Schema, error) {
	return sync.OnceValues(func() (*ast.Schema, error) { return graphql.ReadSchema(raw, graphql.SchemaLimits{}) })
}

// Schema returns the types that the server has. They are made once, shared, and
// not to be changed.
func (s RemoteSchema) Schema() (*ast.Schema, error) {
	if s.types == nil {
		return schemaOnce(s.Introspection)()
	}
	return s.types()
}

func decodeStoredRemoteSchema(raw json.RawMessage) (Object, error) {
	s, err := decode[RemoteSchema](raw)
	s.view, s.types = viewOnce(s.Introspection), schemaOnce(s.Introspection)
	return s, err
}

// decodeRemoteSchemaEntry reads a schema as calls and documents have it.
func decodeRemoteSchemaEntry(n wire.Node) RemoteSchema {
	return RemoteSchema{
		Name:       n.Field("name").Text(),
		Definition: decodeRemoteSchemaDefinition(n.Field("definition")),
		Comment:    decodeComment(n),
	}
}

func decodeRemoteSchemaDefinition(n wire.Node) RemoteSchemaDefinition {
	return RemoteSchemaDefinition{
		URL:                  wire.Pointer(n.Optional("url"), decodeURLTemplate),
		URLFromEnv:           wire.Pointer(n.Optional("url_from_env"), decodeVariable),
		TimeoutSeconds:       wire.Pointer(n.Optional("timeout_seconds"), count),
		Headers:              decodeHeaders(n.Optional("headers")),
		ForwardClientHeaders: n.Optional("forward_client_headers").BoolOr(false),
	}
}

// AddRemoteSchema is add_remote_schema. It becomes a decision when the server
// was asked for its schema: see [AddRemoteSchema.WithIntrospection].
type AddRemoteSchema struct{ RemoteSchema }

// Operation implements [Command].
func (AddRemoteSchema) Operation() string { return "add_remote_schema" }

func decodeAddRemoteSchema(n wire.Node) Command { return AddRemoteSchema{decodeRemoteSchemaEntry(n)} }

// Check refuses what can be refused before the server is asked.
func (c AddRemoteSchema) Check(w World) error {
	if w.Catalog.Has(c.Key()) {
		return refuse(domain.AlreadyExists, "remote schema with name %q already exists", c.Name)
	}
	_, err := c.Definition.Resolve(w.Env)
	return err
}

// WithIntrospection returns the decision to add the schema that the server
// answered with. Encoded it is the same as the command.
func (c AddRemoteSchema) WithIntrospection(raw json.RawMessage) Decider {
	return addIntrospected{c, raw}
}

type addIntrospected struct {
	AddRemoteSchema
	raw json.RawMessage
}

func (addIntrospected) names(World) Names { return Names{} }

func (addIntrospected) demand() demand { return ownStands }

func (c addIntrospected) decide(w World) ([]Change, error) {
	if err := c.Check(w); err != nil {
		return nil, err
	}
	return putIntrospected(w, c.RemoteSchema, c.raw)
}

func putIntrospected(w World, s RemoteSchema, raw json.RawMessage) ([]Change, error) {
	s = s.WithIntrospection(raw)
	if _, err := s.Schema(); err != nil {
		return nil, err
	}
	return putReloaded(w, s), nil
}

// RemoveRemoteSchema is remove_remote_schema.
// With Cascade, the remote relationships to it go with it.
type RemoveRemoteSchema struct {
	Name    string `json:"name"`
	Cascade bool   `json:"cascade,omitzero"`
}

// Operation implements [Command].
func (RemoveRemoteSchema) Operation() string { return "remove_remote_schema" }

func decodeRemoveRemoteSchema(n wire.Node) Command {
	return RemoveRemoteSchema{n.Field("name").Text(), n.Optional("cascade").BoolOr(false)}
}

func (RemoveRemoteSchema) names(World) Names { return Names{} }

func (RemoveRemoteSchema) demand() demand { return noneNew }

func (c RemoveRemoteSchema) decide(w World) ([]Change, error) {
	key := remoteSchemaKey(c.Name)
	if !w.Catalog.Has(key) {
		return nil, refuse(domain.NotExists, "no such remote schema")
	}
	return w.dropWithDependents(key, c.Cascade)
}

// ReloadRemoteSchema is reload_remote_schema: the server is asked for its
// schema again. It becomes a decision by [ReloadRemoteSchema.WithIntrospection].
type ReloadRemoteSchema struct {
	Name string `json:"name"`
}

// Operation implements [Command].
func (ReloadRemoteSchema) Operation() string { return "reload_remote_schema" }

func decodeReloadRemoteSchema(n wire.Node) Command { return ReloadRemoteSchema{n.Field("name").Text()} }

// Check refuses a schema that is not there.
func (c ReloadRemoteSchema) Check(w World) error {
	if !w.Catalog.Has(remoteSchemaKey(c.Name)) {
		return refuse(domain.NotExists, "remote schema with name %q does not exist", c.Name)
	}
	return nil
}

// WithIntrospection returns the decision to take the schema that the server
// answered with now. Encoded it is the same as the command.
func (c ReloadRemoteSchema) WithIntrospection(raw json.RawMessage) Decider {
	return reloadIntrospected{c, raw}
}

type reloadIntrospected struct {
	ReloadRemoteSchema
	raw json.RawMessage
}

func (reloadIntrospected) names(World) Names { return Names{} }

func (reloadIntrospected) demand() demand { return noneNew }

func (c reloadIntrospected) decide(w World) ([]Change, error) {
	if err := c.Check(w); err != nil {
		return nil, err
	}
	s, _ := lookup[RemoteSchema](w.Catalog, remoteSchemaKey(c.Name))
	return putIntrospected(w, s, c.raw)
}

// Fallen is the refusal of a reload after which the schema could not stand. The
// schema that was there stays in use.
func (s RemoteSchema) Fallen(reason *domain.Error) error {
	d := s.described()
	return fallen(encode([]Inconsistency{{Type: d.Type, Definition: encode(d.Definition), Reason: reason.Message}}))
}

// Clashing gives the refusal of a clash, of types or of root fields, the form that
// a reload has for it; any other stays as it is.
func (s RemoteSchema) Clashing(refusal *domain.Error) error {
	switch {
	case refusal.Fault:
		return refusal
	case refusal.Code == domain.RemoteConflicts:
		return s.Fallen(refusal)
	case refusal.Code == domain.Unexpected, refusal.Code == domain.ConstraintViolation:
		return fallen(refusal.Internal)
	}
	return refusal
}

func fallen(list json.RawMessage) error {
	e := refuse(domain.Unexpected, "cannot continue due to newly found inconsistent metadata")
	e.Internal, e.Fault = list, true
	return e
}

// IntrospectRemoteSchema is introspect_remote_schema.
type IntrospectRemoteSchema struct {
	Name string `json:"name"`
}

// Operation implements [Command].
func (IntrospectRemoteSchema) Operation() string { return "introspect_remote_schema" }

func decodeIntrospectRemoteSchema(n wire.Node) Command {
	return IntrospectRemoteSchema{n.Field("name").Text()}
}

// Check refuses a schema that is not there.
func (c IntrospectRemoteSchema) Check(w World) error {
	_, err := c.Answer(w)
	return err
}

// Answer is what the server answered when it was last asked for its schema.
func (c IntrospectRemoteSchema) Answer(w World) (json.RawMessage, error) {
	s, ok := lookup[RemoteSchema](w.Catalog, remoteSchemaKey(c.Name))
	if !ok || s.Introspection == nil {
		return nil, refuse(domain.NotFound, "remote schema: %q not found", c.Name)
	}
	return s.Introspection, nil
}
