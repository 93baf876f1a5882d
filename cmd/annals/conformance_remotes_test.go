package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"annals/domain/graphql/graphqltest"
)

// Sections 5.2 and 6.4 of the cases' description: GraphQL servers on one port,
// by path, and what is done with them.

const (
	remote5000  = "remote-5000"
	remotePort  = 5000
	remoteBase  = "http://localhost:5000"
	slowRemote  = 10 * time.Second
	seenAsAlias = "x-hasura-"
)

// openRemotes opens the servers. Each case finds them as they were: what one
// class creates there, no other asks for.
func openRemotes(ctx context.Context) (*webhook, error) {
	listener, err := listenWhenFree(ctx, remotePort)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for path, server := range remoteServers() {
		mux.Handle("POST "+path, answering(func(*http.Request) *graphqltest.Server { return server }))
	}
	mux.Handle("POST /header-graphql", answering(headerServer))
	mux.Handle("POST /hello-graphql", answering(helloServer))
	auth := answering(helloServer)
	mux.HandleFunc("POST /auth-graphql", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "abcd")
		w.Header().Set("Custom-Header", "custom-value")
		auth(w, r)
	})
	hook := &webhook{server: &http.Server{Handler: mux}}
	go func() { _ = hook.server.Serve(listener) }() // ends with Close
	return hook, nil
}

func answering(server func(*http.Request) *graphqltest.Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // nobody waits for an answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(server(r).Answer(body)) // as above
	}
}

// greeting answers after a while, or when nobody waits for it any more.
func greeting(r *http.Request, after time.Duration) graphqltest.Resolver {
	return func(args map[string]any) (any, error) {
		waited(r.Context(), after)
		return fmt.Sprintf("Hello %v", args["arg"]), nil
	}
}

func helloServer(r *http.Request) *graphqltest.Server {
	const types = `type Hello { hello(arg: String = "world"): String  delayedHello(arg: String = "world"): String }
		schema { query: Hello subscription: Hello }`
	return graphqltest.New(types, graphqltest.Object{"hello": greeting(r, 0), "delayedHello": greeting(r, slowRemote)}, nil)
}

func remoteServers() map[string]*graphqltest.Server {
	servers := map[string]*graphqltest.Server{
		"/user-graphql": userServer(), "/default-value-echo-graphql": echoServer(),
		"/country-graphql": graphqltest.New(`schema { query: CountryQuery } type CountryQuery { country: Country } type Country { name: String }`,
			graphqltest.Object{"country": graphqltest.Object{"name": "India"}}, nil),
		"/person-graphql": graphqltest.New(`schema { query: PersonQuery } type PersonQuery { person_: person }
			type person { id: Int!  name: String  created: timestamptz } scalar timestamptz`,
			graphqltest.Object{"person_": graphqltest.Object{"id": 42, "name": "Arthur Dent", "created": "2018-12-20"}}, nil),
		"/messages-graphql": messagesServer(), "/character-iface-graphql": interfaceServer(), "/union-graphql": unionServer(),
	}
	for path, lie := range remoteLies() {
		base := interfaceServer()
		if strings.HasPrefix(path, "/union") {
			base = unionServer()
		}
		servers[path] = base.Lying(told(base.Introspection(), lie))
	}
	return servers
}

func messagesServer() *graphqltest.Server {
	messages := []graphqltest.Object{{"id": 1, "msg": "You win!"}, {"id": 2, "msg": "You lose!"}}
	return graphqltest.New(`schema { query: MessagesQuery } type MessagesQuery { message(id: Int!): Message  messages: [Message] }
		type Message { id: Int  msg: String }`,
		graphqltest.Object{"messages": messages, "message": byID(&messages)}, nil)
}

// byID finds the object whose id is the argument's.
func byID(list *[]graphqltest.Object) graphqltest.Resolver {
	return func(args map[string]any) (any, error) {
		for _, o := range *list {
			if fmt.Sprint(o["id"]) == fmt.Sprint(args["id"]) {
				return o, nil
			}
		}
		return nil, nil
	}
}

func userServer() *graphqltest.Server {
	failing := graphqltest.Fail(`Cannot query field "generateError" on type "User".`)
	user := func(id, name any) graphqltest.Object {
		return graphqltest.Object{"id": id, "username": name, "generateError": failing}
	}
	users := []graphqltest.Object{user(1, "jane"), user(2, "john"), user(3, "joe")}
	create := func(args map[string]any) (any, error) {
		users = append(users, user(args["id"], args["username"]))
		return graphqltest.Object{"ok": true, "user": users[len(users)-1]}, nil
	}
	return graphqltest.New(`schema { query: UserQuery mutation: UserMutation }
		type UserQuery { user(id: Int!): User  allUsers: [User] }
		type UserMutation { createUser(id: Int!, username: String!): CreateUser  createUserInputObj(userData: UserDetailsInput!): CreateUserInputObject }
		type User { id: Int  username: String  generateError: String }
		type CreateUser { ok: Boolean  user: User }
		type CreateUserInputObject { ok: Boolean  user: User }
		input UserDetailsInput { id: Int!  username: String! }`,
		graphqltest.Object{"user": byID(&users), "allUsers": graphqltest.Resolver(func(map[string]any) (any, error) { return users, nil })},
		graphqltest.Object{"createUser": graphqltest.Resolver(create),
			"createUserInputObj": graphqltest.Resolver(func(args map[string]any) (any, error) { return create(args["userData"].(map[string]any)) })})
}

// people are two characters, by the episode that they are in.
func people(firstEpisode, firstID int, argument string) graphqltest.Resolver {
	list := []graphqltest.Object{
		{"__typename": "Droid", "id": fmt.Sprint(firstID), "name": "R2-D2", "primaryFunction": "Astromech"},
		{"__typename": "Human", "id": fmt.Sprint(firstID + 1), "name": "Luke Skywalker", "homePlanet": "Tatooine"},
	}
	return func(args map[string]any) (any, error) {
		for i, o := range list {
			if fmt.Sprint(args[argument]) == fmt.Sprint(firstEpisode+i) {
				return o, nil
			}
		}
		return nil, nil
	}
}

func interfaceServer() *graphqltest.Server {
	return graphqltest.New(`schema { query: CharacterIFaceQuery } type CharacterIFaceQuery { hero(episode: Int!): Character }
		interface Character { id: ID!  name: String! }
		type Human implements Character { id: ID!  name: String!  homePlanet: String }
		type Droid implements Character { id: ID!  name: String!  primaryFunction: String }`,
		graphqltest.Object{"hero": people(4, 1, "episode")}, nil)
}

func unionServer() *graphqltest.Server {
	return graphqltest.New(`schema { query: UnionQuery } type UnionQuery { search(episode: Int!): CharacterSearchResult }
		union CharacterSearchResult = Human | Droid
		interface Character { id: ID!  name: String! }
		type Human implements Character { id: ID!  name: String!  homePlanet: String }
		type Droid implements Character { id: ID!  name: String!  primaryFunction: String }`,
		graphqltest.Object{"search": people(1, 6, "episode")}, nil)
}

const echoTypes = `schema { query: EchoQuery }
	type EchoQuery { echo(intInput: Int = 1234, listInput: [String] = ["hi", "there"],
		objInput: SizeInput = {width: 100, height: 100.1, shape: "cube", hasTag: false}, enumInput: Color = RED,
		rIntInput: Int! = 1234, rListInput: [String]! = ["general", "Kenobi"],
		rObjInput: SizeInput! = {width: 100, height: 100.1, shape: "cube", hasTag: false}, rEnumInput: Color! = RED): Echo }
	type Echo { intFld: Int  listFld: [String]  objFld: SizeObj  enumFld: Color }
	enum Color { RED GREEN BLUE }
	input SizeInput { width: Int = 100  height: Float = 100.1  shape: String = "cube"  hasTag: Boolean = false }
	type SizeObj { width: Int  height: Float  shape: String  hasTag: Boolean }`

func echoServer() *graphqltest.Server {
	return graphqltest.New(echoTypes, graphqltest.Object{"echo": graphqltest.Resolver(func(args map[string]any) (any, error) {
		size, _ := args["objInput"].(map[string]any)
		return graphqltest.Object{"intFld": args["intInput"], "listFld": args["listInput"], "objFld": graphqltest.Object(size), "enumFld": args["enumInput"]}, nil
	})}, nil)
}

// A lie changes what a server says of one type.
type lie struct {
	typeName string
	change   func(map[string]any)
}

func remoteLies() map[string][]lie {
	idType := func(name string) func(map[string]any) {
		return func(t map[string]any) {
			fieldNamed(t, "id")["type"] = map[string]any{"kind": "NON_NULL", "name": nil, "ofType": map[string]any{"kind": "SCALAR", "name": name, "ofType": nil}}
		}
	}
	argument := func(of string) func(map[string]any) {
		return func(t map[string]any) {
			fieldNamed(t, "id")["args"] = []any{map[string]any{"name": "ifaceArg", "type": map[string]any{
				"kind": "NON_NULL", "name": nil, "ofType": map[string]any{"kind": "SCALAR", "name": of, "ofType": nil}}}}
		}
	}
	without := func(t map[string]any) {
		t["fields"] = slices.DeleteFunc(t["fields"].([]any), func(f any) bool { return f.(map[string]any)["name"] == "id" })
	}
	members := func(change func(map[string]any) any) func(map[string]any) {
		return func(t map[string]any) {
			for i, p := range t["possibleTypes"].([]any) {
				t["possibleTypes"].([]any)[i] = change(p.(map[string]any))
			}
		}
	}
	return map[string][]lie{
		"/iface-graphql-err-empty-field-list": {{"Character", func(t map[string]any) { t["fields"] = []any{} }}},
		"/iface-graphql-err-missing-field":    {{"Droid", without}},
		"/iface-graphql-err-unknown-iface": {{"Droid", func(t map[string]any) {
			t["interfaces"].([]any)[0].(map[string]any)["name"] = "UnknownIFace"
		}}},
		"/iface-graphql-err-wrong-field-type": {{"Droid", idType("String")}},
		"/iface-graphql-err-wrong-arg-type":   {{"Character", argument("Int")}, {"Droid", argument("Int")}, {"Human", argument("String")}},
		"/union-graphql-err-no-member-types":  {{"CharacterSearchResult", func(t map[string]any) { t["possibleTypes"] = []any{} }}},
		"/union-graphql-err-subtype-iface": {{"CharacterSearchResult", members(func(p map[string]any) any {
			p["name"] = "Character"
			return p
		})}},
		"/union-graphql-err-wrapped-type": {{"CharacterSearchResult", members(func(p map[string]any) any {
			return map[string]any{"kind": "NON_NULL", "name": nil, "ofType": p}
		})}},
	}
}

func fieldNamed(t map[string]any, name string) map[string]any {
	for _, f := range t["fields"].([]any) {
		if f := f.(map[string]any); f["name"] == name {
			return f
		}
	}
	panic("no field " + name)
}

func told(truth []byte, lies []lie) []byte {
	var said map[string]map[string]map[string]any
	if err := json.Unmarshal(truth, &said); err != nil {
		panic(err) // written by graphqltest
	}
	for _, t := range said["data"]["__schema"]["types"].([]any) {
		for _, l := range lies {
			if t := t.(map[string]any); t["name"] == l.typeName {
				l.change(t)
			}
		}
	}
	text, _ := json.Marshal(said) // what was JSON is JSON
	return text
}

// headerServer greets those whose request has the headers of section 6.4.
func headerServer(r *http.Request) *graphqltest.Server {
	const types = `schema { query: HeaderTest } type HeaderTest { wassup(arg: String = "world"): String }`
	greet := greeting(r, 0)
	if wrong := wrongHeader(r.Header); wrong != "" {
		greet = graphqltest.Fail("wrong header %s", wrong)
	}
	return graphqltest.New(types, graphqltest.Object{"wassup": greet}, nil)
}

func wrongHeader(h http.Header) string {
	seen := map[string][]string{}
	for name, values := range h {
		name = strings.Replace(strings.ToLower(name), "x-service-", seenAsAlias, 1)
		seen[name] = append(seen[name], values...)
	}
	for name, want := range map[string]string{
		"x-hasura-test": "abcd", "x-hasura-role": "user", "x-hasura-user-id": "abcd1234", "content-type": "application/json",
		"authorization": "Bearer abcdef", "x-forwarded-user-agent": clientAgent,
	} {
		if !slices.Equal(seen[name], []string{want}) {
			return fmt.Sprintf("%s: %q", name, seen[name])
		}
	}
	if host := seen["x-forwarded-host"]; len(host) != 1 || !strings.Contains(host[0], ":") {
		return fmt.Sprintf("x-forwarded-host: %q", host)
	}
	return ""
}

const clientAgent = "conformance/1"

func addRemote(name, path string, more ...any) any {
	definition := makeObject(append([]any{"url", remoteBase + path}, more...)...)
	return makeObject("type", "add_remote_schema", "args", makeObject("name", name, "comment", "testing", "definition", definition))
}

func ofRemote(operation, name string) any {
	return makeObject("type", operation, "args", makeObject("name", name))
}

// remoteScene is posted around each case of some classes.
func remoteScene(c indexedCase) (up, down []any) {
	clear := []any{operation("clear_metadata")}
	switch c.class {
	case "test_schema_stitching.py::TestRemoteSchemaBasic":
		return []any{addRemote("simple 1", "/hello-graphql")}, clear
	case "test_schema_stitching.py::TestRemoteSchemaResponseHeaders":
		return []any{addRemote("sample-auth", "/auth-graphql")}, clear
	case "test_schema_stitching.py::TestAddRemoteSchemaCompareRootQueryFields":
		return []any{addRemote("default_value_test", "/default-value-echo-graphql")}, clear
	}
	return nil, nil
}

func (w *world) postAll(ctx context.Context, operations []any) error {
	for _, o := range operations {
		if _, err := w.admin(ctx, o, http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}

func remoteCases() map[string]codedCase {
	const basic, tables = "test_schema_stitching.py::TestRemoteSchemaBasic.", "test_schema_stitching.py::TestAddRemoteSchemaTbls."
	return map[string]codedCase{
		basic + "test_add_schema":                                                                     remoteIsThere,
		basic + "test_introspection":                                                                  introspectionShows("String", "hello"),
		basic + "test_add_schema_conflicts":                                                           remoteRefused(addRemote("simple 2", "/hello-graphql"), "unexpected"),
		basic + "test_remove_schema_error":                                                            remoteRefused(ofRemote("remove_remote_schema", "random name"), "not-exists"),
		basic + "test_reload_remote_schema":                                                           remotePosts(ofRemote("reload_remote_schema", "simple 1")),
		basic + "test_add_second_remote_schema":                                                       remotePosts(addRemote("simple 2", "/user-graphql"), ofRemote("remove_remote_schema", "simple 2")),
		basic + "test_bulk_remove_add_remote_schema":                                                  stepsOfTheIndex,
		basic + "test_add_remote_schema_with_interfaces":                                              remoteWithInterfaces,
		tables + "test_add_schema_conflicts_with_tables":                                              remoteRefused(addRemote("simple2", "/hello-graphql"), "constraint-violation"),
		tables + "test_introspection":                                                                 introspectionShows("User", "user", "hello"),
		tables + "test_add_schema_duplicate_name":                                                     remoteRefused(addRemote("simple2-graphql", "/hello-graphql"), "already-exists"),
		tables + "test_remote_schema_forward_headers":                                                 forwardedHeaders,
		"test_schema_stitching.py::TestRemoteSchemaQueriesOverWebsocket.test_remote_query":            remoteOverWebsocket,
		"test_schema_stitching.py::TestRemoteSchemaResponseHeaders.test_response_headers_from_remote": remoteCookie,
		"test_schema_stitching.py::TestAddRemoteSchemaCompareRootQueryFields.test_schema_check_arg_default_values_and_field_and_arg_types": sameRootFields,
	}
}

func remotePosts(operations ...any) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error { return w.postAll(ctx, operations) }
}

func remoteRefused(operation any, code string) codedCase {
	return func(ctx context.Context, w *world, _ indexedCase) error {
		a, err := w.admin(ctx, operation, http.StatusBadRequest)
		if err != nil {
			return err
		}
		if got := text(get(a.body, "code")); got != code {
			return fmt.Errorf("wanted the code %s, got %s", code, a.raw)
		}
		return nil
	}
}

// remoteIsThere looks where v1.3 keeps its remote schemas.
func remoteIsThere(ctx context.Context, w *world, _ indexedCase) error {
	a, err := w.runSQL(ctx, "select name from hdb_catalog.remote_schemas where name = 'simple 1'")
	if err != nil {
		return err
	}
	if rows := list(get(a.body, "result")); len(rows) != 2 { // the first is the names of the columns
		return fmt.Errorf("no remote schema simple 1: %s", start(a.raw))
	}
	return nil
}

func remoteWithInterfaces(ctx context.Context, w *world, c indexedCase) error {
	const name = "my remote interface one"
	if err := w.postAll(ctx, []any{addRemote(name, "/character-iface-graphql")}); err != nil {
		return err
	}
	if err := stepsOfTheIndex(ctx, w, c); err != nil {
		return err
	}
	return w.postAll(ctx, []any{ofRemote("remove_remote_schema", name)})
}

// introspected asks what the case's file asks, and returns the types.
func (w *world) introspected(ctx context.Context, c indexedCase) ([]any, error) {
	requests, err := readRequests(w.cases, c.onlyFile())
	if err != nil {
		return nil, err
	}
	a, err := w.post(ctx, requests[0].url, requests[0].query, w.withSecret(requests[0].headers))
	if err != nil {
		return nil, err
	}
	types := list(get(get(get(a.body, "data"), "__schema"), "types"))
	if len(types) == 0 {
		return nil, fmt.Errorf("no types: %s", start(a.raw))
	}
	return types, nil
}

func memberNamed(items []any, name string) any {
	for _, i := range items {
		if text(get(i, "name")) == name {
			return i
		}
	}
	return nil
}

func introspectionShows(typeName string, fields ...string) codedCase {
	return func(ctx context.Context, w *world, c indexedCase) error {
		types, err := w.introspected(ctx, c)
		if err != nil {
			return err
		}
		if memberNamed(types, typeName) == nil {
			return fmt.Errorf("no type %s", typeName)
		}
		for _, f := range fields {
			if memberNamed(list(get(memberNamed(types, "query_root"), "fields")), f) == nil {
				return fmt.Errorf("no field %s", f)
			}
		}
		return nil
	}
}

// sameRootFields wants the fields' types, arguments and defaults as the server has them.
func sameRootFields(ctx context.Context, w *world, c indexedCase) error {
	types, err := w.introspected(ctx, c)
	if err != nil {
		return err
	}
	own, err := parseJSON(echoServer().Introspection())
	if err != nil {
		return err
	}
	theirs := list(get(get(get(own, "data"), "__schema"), "types"))
	want := memberNamed(list(get(memberNamed(theirs, "EchoQuery"), "fields")), "echo")
	got := memberNamed(list(get(memberNamed(types, "query_root"), "fields")), "echo")
	for _, a := range list(get(want, "args")) {
		same := memberNamed(list(get(got, "args")), text(get(a, "name")))
		for _, key := range []string{"type", "defaultValue"} {
			if err := sameText(canonical(get(a, key), nil), canonical(get(same, key), nil)); err != nil {
				return fmt.Errorf("%s of %s: %w", key, text(get(a, "name")), err)
			}
		}
	}
	return sameText(canonical(get(want, "type"), nil), canonical(get(got, "type"), nil))
}

func forwardedHeaders(ctx context.Context, w *world, _ indexedCase) error {
	add := addRemote("header-graphql", "/header-graphql", "forward_client_headers", true,
		"headers", []any{makeObject("name", "x-hasura-test", "value", "abcd")})
	if err := w.postAll(ctx, []any{add}); err != nil {
		return err
	}
	a, err := w.post(ctx, "/v1alpha1/graphql", makeObject("query", "{ wassup }"), w.withSecret(map[string]string{
		"x-hasura-test": "xyzz", "x-hasura-role": "user", "x-hasura-user-id": "abcd1234", "Authorization": "Bearer abcdef", "User-Agent": clientAgent,
	}))
	if err != nil {
		return err
	}
	if got := text(get(get(a.body, "data"), "wassup")); got != "Hello world" {
		return fmt.Errorf("the remote was not told what it should be: %s", a.raw)
	}
	return w.postAll(ctx, []any{ofRemote("remove_remote_schema", "header-graphql")})
}

func remoteOverWebsocket(ctx context.Context, w *world, c indexedCase) error {
	query, err := parseJSON([]byte(`{"query":"query { user(id: 2) { id username } }"}`))
	if err != nil {
		return err
	}
	want, err := parseJSON([]byte(`{"data":{"user":{"id":2,"username":"john"}}}`))
	if err != nil {
		return err
	}
	return w.checkOver(ctx, "websocket", request{url: "/v1/graphql", query: query, want: want, judged: true, status: http.StatusOK}, c.auth)
}

func remoteCookie(ctx context.Context, w *world, _ indexedCase) error {
	a, err := w.post(ctx, "/v1/graphql", makeObject("query", `query { hello(arg: "me") }`), w.withSecret(nil))
	if err != nil {
		return err
	}
	if got := a.header.Get("Set-Cookie"); got != "abcd" {
		return errors.New("the answer carries no cookie of the remote")
	}
	return nil
}
