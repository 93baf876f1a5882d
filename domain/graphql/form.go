package graphql

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// MaxTokens is how many words and signs a document may have.
const MaxTokens = 100_000

// Form is the normal form of a document, or of a part of one.
type Form [sha256.Size]byte

func (f Form) String() string { return hex.EncodeToString(f[:]) }

// FormOf returns a document's normal form. It fails on text that is no document.
func FormOf(text string) (Form, error) {
	document, err := Parse(text)
	if err != nil {
		return Form{}, err
	}
	return node("document", nil,
		sorted(each(document.Operations, operation)),
		sorted(each(document.Fragments, fragment))), nil
}

// Parse reads a document of at most [MaxTokens], by the grammar alone.
func Parse(text string) (*ast.QueryDocument, error) { return ParseWithin(text, MaxTokens) }

// ErrTooLong is the error of a document that has more words and signs than it may.
var ErrTooLong = errors.New("the document has too many words and signs")

// tooManyTokens is how the parser's message begins that says so.
const tooManyTokens = "exceeded token limit"

// ParseWithin reads a document of at most so many words and signs, by the grammar
// alone. It fails with [ErrTooLong] where there are more.
func ParseWithin(text string, tokens int) (*ast.QueryDocument, error) {
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, tokens)
	if refusal := (*gqlerror.Error)(nil); errors.As(err, &refusal) && strings.HasPrefix(refusal.Message, tooManyTokens) {
		return nil, ErrTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("parse a GraphQL document: %w", err)
	}
	return document, nil
}

func operation(o *ast.OperationDefinition) Form {
	return node("operation", words(string(o.Operation), o.Name),
		sorted(each(o.VariableDefinitions, variable)),
		each(o.Directives, directive),
		selections(o.SelectionSet, o.Operation == ast.Mutation))
}

// mutationRoot is the type whose fields are a mutation's root fields.
const mutationRoot = "mutation_root"

func fragment(f *ast.FragmentDefinition) Form {
	return node("fragment", words(f.Name, f.TypeCondition),
		sorted(each(f.VariableDefinition, variable)),
		each(f.Directives, directive),
		selections(f.SelectionSet, f.TypeCondition == mutationRoot))
}

func variable(v *ast.VariableDefinition) Form {
	return node("variable", words(v.Variable), typeOf(v.Type), valueOf(v.DefaultValue), each(v.Directives, directive))
}

// typeOf is the form of a type, or of none.
func typeOf(t *ast.Type) []Form {
	if t == nil {
		return nil
	}
	kind := "type"
	if t.NonNull {
		kind = "type!"
	}
	return []Form{node(kind, words(t.NamedType), typeOf(t.Elem))}
}

// selections are the forms of what is selected, without __typename. inOrder
// says that their order counts.
func selections(set ast.SelectionSet, inOrder bool) []Form {
	var forms []Form
	for _, s := range set {
		switch s := s.(type) {
		case *ast.Field:
			if s.Name != "__typename" {
				forms = append(forms, field(s))
			}
		case *ast.FragmentSpread:
			forms = append(forms, node("spread", words(s.Name), each(s.Directives, directive)))
		case *ast.InlineFragment:
			forms = append(forms, node("inline", words(s.TypeCondition), each(s.Directives, directive), selections(s.SelectionSet, inOrder)))
		}
	}
	if inOrder {
		return forms
	}
	return sorted(forms)
}

func field(f *ast.Field) Form {
	return node("field", words(f.Alias, f.Name),
		sorted(each(f.Arguments, argument)),
		each(f.Directives, directive),
		selections(f.SelectionSet, false))
}

func directive(d *ast.Directive) Form {
	return node("directive", words(d.Name), sorted(each(d.Arguments, argument)))
}

func argument(a *ast.Argument) Form { return node("argument", words(a.Name), valueOf(a.Value)) }

func member(c *ast.ChildValue) Form { return node("member", words(c.Name), valueOf(c.Value)) }

// valueOf is the form of a value, or of none.
func valueOf(v *ast.Value) []Form {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case ast.ListValue:
		return []Form{node("list", nil, each(v.Children, member))}
	case ast.ObjectValue:
		return []Form{node("object", nil, sorted(each(v.Children, member)))}
	}
	return []Form{node(kindOf(v.Kind), words(v.Raw))}
}

// kindOf keeps values apart that have the same text, such as 1 and "1".
func kindOf(k ast.ValueKind) string {
	switch k {
	case ast.Variable:
		return "$"
	case ast.StringValue, ast.BlockValue:
		return "string"
	case ast.EnumValue:
		return "enum"
	}
	return "literal" // a number, true, false or null: their texts differ
}

func words(w ...string) []string { return w }

func each[T any](list []T, form func(T) Form) []Form {
	forms := make([]Form, len(list))
	for i, item := range list {
		forms[i] = form(item)
	}
	return forms
}

func sorted(forms []Form) []Form {
	slices.SortFunc(forms, func(a, b Form) int { return bytes.Compare(a[:], b[:]) })
	return forms
}

// node is the form of a part: what it is, its own words, and the forms of its
// parts in groups. Each length is in the hash, so that no two parts are written
// alike.
func node(kind string, own []string, groups ...[]Form) Form {
	text := make([]byte, 0, 256)
	text = appendWord(text, kind)
	text = binary.AppendUvarint(text, uint64(len(own)))
	for _, word := range own {
		text = appendWord(text, word)
	}
	for _, group := range groups {
		text = binary.AppendUvarint(text, uint64(len(group)))
		for i := range group {
			text = append(text, group[i][:]...)
		}
	}
	return sha256.Sum256(text)
}

func appendWord(text []byte, word string) []byte {
	return append(binary.AppendUvarint(text, uint64(len(word))), word...)
}
