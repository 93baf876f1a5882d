package execution

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"annals/domain"
	"annals/domain/engine/plan"
)

// remoteCall is what one remote server is asked for by one operation, or by
// one stretch of a mutation.
type remoteCall struct {
	schema   string
	mutation bool
	// aliases and places are those of the root fields: their keys in the answer,
	// and their places in the operation.
	aliases   []string
	places    []int
	text      string
	variables []string
	// begun is the body of the request as it begins, instead of its text.
	begun []byte
}

// remoteCalls makes one call for each remote server that root fields name. The
// fields begin at a place of the operation.
func remoteCalls(kind plan.Kind, fields []plan.Root, first int) []remoteCall {
	var calls []remoteCall
	selections := map[string][]plan.RemoteSelection{}
	for i, f := range fields {
		r, ok := f.Step.(*plan.Remote)
		if !ok {
			continue
		}
		at := slices.IndexFunc(calls, func(c remoteCall) bool { return c.schema == r.Schema })
		if at < 0 {
			at, calls = len(calls), append(calls, remoteCall{schema: r.Schema, mutation: kind == plan.Mutation})
		}
		calls[at].aliases, calls[at].places = append(calls[at].aliases, f.Alias), append(calls[at].places, first+i)
		selections[r.Schema] = append(selections[r.Schema], r.RemoteSelection)
	}
	for i, c := range calls {
		calls[i].text, calls[i].variables = plan.RemoteDocument(kind, selections[c.schema]...)
	}
	return calls
}

// request is the call with the values of the operation's variables; one that is
// not given is not sent, so that its default counts.
func (c remoteCall) request(op Operation) RemoteRequest {
	r := RemoteRequest{Schema: c.schema, Query: c.text, Mutation: c.mutation, begun: c.begun}
	for _, name := range c.variables {
		if value, given := op.Variables[name]; given {
			if r.Variables == nil {
				r.Variables = map[string]json.RawMessage{}
			}
			r.Variables[name] = value
		}
	}
	return r
}

// remoteFailure is errors that remote servers reported. They are the client's as
// they came: the answer is them, and no data.
type remoteFailure struct{ errors []json.RawMessage }

func (f *remoteFailure) Error() string {
	return fmt.Sprintf("a remote server reported errors: %s", bytes.Join(raws(f.errors), []byte(", ")))
}

func raws(list []json.RawMessage) [][]byte {
	texts := make([][]byte, len(list))
	for i, raw := range list {
		texts[i] = raw
	}
	return texts
}

// answered turns errors of remote servers into the answer that they are.
func answered(body []byte, err error) ([]byte, error) {
	var failed *remoteFailure
	if !errors.As(err, &failed) {
		return body, err
	}
	body = append([]byte(`{"data":null,"errors":[`), bytes.Join(raws(failed.errors), []byte(","))...)
	return append(body, "]}"...), nil
}

// askRemotes asks remote servers side by side, and puts the fields' values
// where they belong.
func (e *Executor) askRemotes(ctx context.Context, op Operation, calls []remoteCall, known outside) error {
	answers := make([]RemoteAnswer, len(calls))
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range calls {
		group.Go(func() (err error) {
			answers[i], err = e.Send(ctx, Caller{op.Session, op.Client}, c.request(op))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	failed := &remoteFailure{}
	for i, c := range calls {
		op.Client.PassOn(answers[i].Header)
		failed.errors = append(failed.errors, answers[i].Errors...)
		if len(answers[i].Errors) > 0 {
			continue
		}
		if err := c.take(known, answers[i].Data); err != nil {
			return err
		}
	}
	if len(failed.errors) > 0 {
		return failed
	}
	return nil
}

// take picks the fields that were asked for out of a server's data.
func (c remoteCall) take(known outside, data json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return notTaken(data, "Received invalid JSON value from remote")
	}
	for i, alias := range c.aliases {
		value, ok := members[alias]
		if !ok {
			return domain.RefuseAt("$", domain.RemoteSchemaError, "expecting key %s", alias)
		}
		known[c.places[i]] = &found{remote: value}
	}
	return nil
}

// readBeside runs statements while remote servers are asked.
func (e *Executor) readBeside(ctx context.Context, op Operation, statements []bound, known outside) (sets []*rowset, err error) {
	calls := remoteCalls(op.Plan.Kind, op.Plan.Fields, 0)
	if len(calls) == 0 {
		return e.read(ctx, statements)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		sets, err = e.read(ctx, statements)
		return err
	})
	group.Go(func() error { return e.askRemotes(ctx, op, calls, known) })
	if err := group.Wait(); err != nil {
		free(sets)
		return nil, err
	}
	return sets, nil
}

// A stretch is root fields of a mutation that follow each other: those of one
// remote server, or those of the database.
type stretch struct {
	remote string // empty: the database's
	first  int    // the place of its first field in the operation
	fields []plan.Root
}

// stretches cuts a mutation where it goes from one server to another. A
// constant belongs anywhere.
func stretches(fields []plan.Root) []stretch {
	var list []stretch
	for i, f := range fields {
		remote := ""
		if r, ok := f.Step.(*plan.Remote); ok {
			remote = r.Schema
		}
		_, constant := f.Step.(plan.Constant)
		if last := len(list) - 1; last >= 0 && (constant || list[last].remote == remote) {
			list[last].fields = append(list[last].fields, f)
			continue
		}
		list = append(list, stretch{remote, i, []plan.Root{f}})
	}
	return list
}

// mutateRemote runs root fields of one remote server, and writes their answers.
func (e *Executor) mutateRemote(ctx context.Context, op Operation, w *writer, part stretch, known outside) error {
	if err := e.askRemotes(ctx, op, remoteCalls(plan.Mutation, part.fields, part.first), known); err != nil {
		return err
	}
	for i, f := range part.fields {
		w.member(f.Alias)
		if c, ok := f.Step.(plan.Constant); ok {
			w.out = append(w.out, c...)
			continue
		}
		w.out = append(w.out, known[part.first+i].remote...)
	}
	return nil
}
