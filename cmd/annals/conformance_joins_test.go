package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"annals/domain/graphql/graphqltest"
)

// joinCases have steps that say all: what they post answers 200.
func joinCases() map[string]codedCase {
	return map[string]codedCase{
		"test_remote_relationships.py::TestCreateRemoteRelationship.test_create_valid": stepsOfTheIndex,
		"test_remote_relationships.py::TestDeleteRemoteRelationship.test_delete":       stepsOfTheIndex,
	}
}

// joinServer is a helper server that remote relationships lead to.
type joinServer struct {
	port    int
	graphql *graphqltest.Server
}

// joinServers are those that the cases know, by the names the index uses.
func joinServers() map[string]joinServer {
	return map[string]joinServer{
		"node-4000": {4000, graphqltest.New(joinTypes, joinQueries(), nil)},
		"node-4001": {4001, graphqltest.New(otherJoinTypes, graphqltest.Object{
			"hello":   "world",
			"message": graphqltest.Resolver(func(a map[string]any) (any, error) { return found(welcomes(), a["id"]), nil }),
		}, nil)},
	}
}

func (s joinServer) open(ctx context.Context) (*webhook, error) {
	listener, err := listenWhenFree(ctx, s.port)
	if err != nil {
		return nil, err
	}
	hook := &webhook{server: &http.Server{Handler: s}}
	go func() { _ = hook.server.Serve(listener) }() // ends with Close
	return hook, nil
}

func (s joinServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.graphql.Answer(body))
}

const messageType = `interface Communication { id: Int! msg: String! }
	type Message implements Communication { id: Int! name: String! msg: String! errorMsg: String }`

const otherJoinTypes = messageType + ` type Query { hello: String message(id: Int!): Message }`

const joinTypes = messageType + `
	type Query {
		hello: String
		messages(where: MessageWhereInpObj, includes: IncludeInpObj): [Message]
		user(user_id: ID!): User
		users(user_ids: [ID]!): [User]
		message(id: Int!): Message
		communications(id: Int): [Communication]
		search(id: Int!): SearchResult
		getOccupation(name: ID!): Occupation!
	}
	type User {
		user_id: Int
		userMessages(whered: MessageWhereInpObj, includes: IncludeInpObj): [Message]
		gimmeText(text: String): String
	}
	union SearchResult = Book | Author
	type Book { title: String }
	type Author { name: String }
	input MessageWhereInpObj { id: IntCompareObj name: StringCompareObj }
	input IntCompareObj { eq: Int gt: Int lt: Int }
	input StringCompareObj { eq: String }
	input IncludeInpObj { id: [Int] name: [String] }
	enum Occupation { SINGER COMEDIAN ARTIST }`

func joinQueries() graphqltest.Object {
	return graphqltest.Object{
		"hello": "world",
		"message": graphqltest.Resolver(func(a map[string]any) (any, error) {
			return found(sentMessages(), a["id"]), nil
		}),
		"messages": graphqltest.Resolver(func(a map[string]any) (any, error) {
			return chosen(sentMessages(), a["where"], a["includes"]), nil
		}),
		"communications": graphqltest.Resolver(func(a map[string]any) (any, error) {
			if a["id"] == nil {
				return sentMessages(), nil
			}
			return chosen(sentMessages(), map[string]any{"id": map[string]any{"eq": a["id"]}}, nil), nil
		}),
		"user": graphqltest.Resolver(func(a map[string]any) (any, error) { return userCalled(a["user_id"]), nil }),
		"users": graphqltest.Resolver(func(a map[string]any) (any, error) {
			var users []graphqltest.Object
			for _, id := range listOf(a["user_ids"]) {
				users = append(users, userCalled(id))
			}
			return users, nil
		}),
		"search":        graphqltest.Resolver(func(a map[string]any) (any, error) { return searched(idNumber(a["id"])), nil }),
		"getOccupation": graphqltest.Resolver(occupation),
	}
}

func sentMessages() []graphqltest.Object {
	return []graphqltest.Object{
		message(1, "alice", "You win!"), message(2, "bob", "You lose!"), message(3, "alice", "Another alice"),
	}
}

func welcomes() []graphqltest.Object {
	return []graphqltest.Object{
		message(1, "Clarke", "Welcome to the team, Clarke"), message(2, "Alice", "Welcome to the team, Alice"),
	}
}

func message(id int, name, text string) graphqltest.Object {
	return graphqltest.Object{
		"__typename": "Message", "id": id, "name": name, "msg": text, "errorMsg": graphqltest.Fail("intentional-error"),
	}
}

// found is the message of an id, or null.
func found(messages []graphqltest.Object, id any) any {
	for _, m := range messages {
		if m["id"] == idNumber(id) {
			return m
		}
	}
	return nil
}

// chosen are the messages that fit a filter and are included.
func chosen(messages []graphqltest.Object, where, includes any) []graphqltest.Object {
	return slices.DeleteFunc(messages, func(m graphqltest.Object) bool {
		return !fits(m, where) || !included(m, includes)
	})
}

func fits(m graphqltest.Object, where any) bool {
	filters, _ := where.(map[string]any)
	id, _ := filters["id"].(map[string]any)
	name, _ := filters["name"].(map[string]any)
	own := m["id"].(int)
	switch {
	case id["eq"] != nil && own != idNumber(id["eq"]),
		id["gt"] != nil && own <= idNumber(id["gt"]),
		id["lt"] != nil && own >= idNumber(id["lt"]),
		name["eq"] != nil && m["name"] != name["eq"]:
		return false
	}
	return true
}

func included(m graphqltest.Object, includes any) bool {
	lists, _ := includes.(map[string]any)
	ids, names := lists["id"], lists["name"]
	return (ids == nil || slices.ContainsFunc(listOf(ids), func(id any) bool { return idNumber(id) == m["id"] })) &&
		(names == nil || slices.Contains(listOf(names), m["name"]))
}

func userCalled(id any) graphqltest.Object {
	return graphqltest.Object{
		"user_id": idNumber(id),
		"userMessages": graphqltest.Resolver(func(a map[string]any) (any, error) {
			own := chosen(sentMessages(), map[string]any{"id": map[string]any{"eq": id}}, nil)
			return chosen(own, a["whered"], a["includes"]), nil
		}),
		"gimmeText": graphqltest.Resolver(func(a map[string]any) (any, error) {
			if a["text"] == nil {
				return "no text", nil
			}
			return a["text"], nil
		}),
	}
}

func searched(id int) any {
	switch id {
	case 1:
		return graphqltest.Object{"__typename": "Book", "title": "Harry Porter and the prisoner of Azkaban"}
	case 2:
		return graphqltest.Object{"__typename": "Author", "name": "J.K. Rowling"}
	case 3:
		return graphqltest.Object{"__typename": "Book", "title": "Harry Porter and the philoshoper's stone"}
	}
	return nil
}

func occupation(a map[string]any) (any, error) {
	switch a["name"] {
	case "alice":
		return "SINGER", nil
	case "bob":
		return "ARTIST", nil
	}
	return nil, fmt.Errorf("invalid argument - %v", a["name"])
}

// listOf is a list, or the one value that stands for it.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// idNumber is an id as it was given: a number, or its text.
func idNumber(v any) int {
	n, _ := strconv.Atoi(fmt.Sprint(v)) // what is none is nobody's id
	return n
}
