package metadata

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"
)

// introspection is the part of a remote server's answer to the introspection
// query that definitions refer to: the types, and which is the query root.
type introspection struct {
	QueryType *struct {
		Name string `json:"name"`
	} `json:"queryType"`
	Types []*remoteType `json:"types"`

	byName map[string]*remoteType
}

// remoteType is one type of a remote schema.
type remoteType struct {
	Kind        ast.DefinitionKind `json:"kind"`
	Name        string             `json:"name"`
	Fields      []remoteField      `json:"fields"`
	InputFields []remoteInput      `json:"inputFields"`
}

type remoteField struct {
	Name string        `json:"name"`
	Args []remoteInput `json:"args"`
	Type remoteTypeRef `json:"type"`
}

// remoteInput is an argument, or a field of an input object.
type remoteInput struct {
	Name string        `json:"name"`
	Type remoteTypeRef `json:"type"`
}

// remoteTypeRef is a type as introspection writes it: lists and non-null types
// wrap the type that has the name.
type remoteTypeRef struct {
	Kind   string         `json:"kind"`
	Name   string         `json:"name"`
	OfType *remoteTypeRef `json:"ofType"`
}

// readIntrospection reads {"data":{"__schema":...}}, or what stands in data.
func readIntrospection(raw json.RawMessage) (*introspection, error) {
	answer, err := decode[struct {
		Data *struct {
			Schema *introspection `json:"__schema"`
		} `json:"data"`
		Schema *introspection `json:"__schema"`
	}](raw)
	if err != nil {
		return nil, fmt.Errorf("the answer to the introspection query cannot be read: %w", err)
	}
	schema := answer.Schema
	if answer.Data != nil {
		schema = answer.Data.Schema
	}
	if schema == nil {
		return nil, errors.New("the answer to the introspection query holds no __schema")
	}
	schema.byName = make(map[string]*remoteType, len(schema.Types))
	for _, t := range schema.Types {
		if t == nil {
			return nil, errors.New("the answer to the introspection query holds a type that is null")
		}
		schema.byName[t.Name] = t
	}
	return schema, nil
}

// viewOnce reads an introspection when it is first asked for, and nil when it
// cannot be read.
func viewOnce(raw json.RawMessage) func() *introspection {
	return sync.OnceValue(func() *introspection {
		schema, err := readIntrospection(raw)
		if err != nil {
			return nil
		}
		return schema
	})
}

// introspected returns the types of the remote schema, nil when they are not
// known.
func (s RemoteSchema) introspected() *introspection {
	if s.view == nil {
		return viewOnce(s.Introspection)()
	}
	return s.view()
}

// queryRoot returns the object that queries begin at, nil when there is none.
func (i *introspection) queryRoot() *remoteType {
	if i.QueryType == nil {
		return nil
	}
	if t := i.byName[i.QueryType.Name]; t != nil && t.Kind == ast.Object {
		return t
	}
	return nil
}

func (t *remoteType) field(name string) *remoteField {
	return find(t.Fields, func(f remoteField) bool { return f.Name == name })
}

func findInput(inputs []remoteInput, name string) *remoteInput {
	return find(inputs, func(i remoteInput) bool { return i.Name == name })
}

// base returns the name of the type without its wrappers, and how many lists
// lie around it.
func (t *remoteTypeRef) base() (name string, lists int) {
	for ; t != nil; t = t.OfType {
		if t.OfType == nil {
			return t.Name, lists
		}
		if t.Kind == "LIST" {
			lists++
		}
	}
	return "", lists
}

// nullable returns the type without a non-null wrapper.
func (t *remoteTypeRef) nullable() *remoteTypeRef {
	if t.Kind == "NON_NULL" && t.OfType != nil {
		return t.OfType
	}
	return t
}

// item returns the type of a list's items; nil when it is no list.
func (t *remoteTypeRef) item() *remoteTypeRef {
	if t = t.nullable(); t.Kind == "LIST" {
		return t.OfType
	}
	return nil
}

// String prints the type as GraphQL writes it.
func (t *remoteTypeRef) String() string {
	switch {
	case t == nil:
		return ""
	case t.Kind == "LIST":
		return "[" + t.OfType.String() + "]"
	case t.Kind == "NON_NULL":
		return t.OfType.String() + "!"
	}
	return t.Name
}
