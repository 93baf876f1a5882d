package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"annals/domain"
	"annals/domain/wire"
	"annals/handlers/dump"
)

// Dumper tells the user's database as SQL text. A [*dump.OptionError] says
// which option it does not take.
type Dumper interface {
	Dump(ctx context.Context, options []string, clean bool) (io.ReadCloser, error)
}

const sqlType = "application/sql; charset=utf-8"

// pgDump answers POST /v1alpha1/pg_dump.
func (a *API) pgDump(w http.ResponseWriter, r *http.Request) {
	text, err := a.runDump(w, r)
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	defer text.Close()
	w.Header().Set("Content-Type", sqlType)
	_, _ = io.Copy(w, text) // a client that has gone is told nothing
}

func (a *API) runDump(w http.ResponseWriter, r *http.Request) (io.ReadCloser, error) {
	body, err := a.readBody(w, r, true)
	if err != nil {
		return nil, err
	}
	value, err := wire.Parse(body)
	if err != nil {
		return nil, err
	}
	request, err := wire.Decode(value, decodeDump)
	if err != nil {
		return nil, err
	}
	text, err := a.dumper.Dump(r.Context(), request.options, request.clean)
	var option *dump.OptionError
	switch {
	case errors.As(err, &option):
		return nil, &domain.Error{Code: domain.BadRequest, Path: fmt.Sprintf("$.opts[%d]", option.Index), Message: option.Reason}
	case err != nil && r.Context().Err() == nil:
		return nil, &domain.Error{Code: domain.Unexpected, Path: "$", Message: "error while executing pg_dump: " + err.Error(), Fault: true}
	}
	return text, err
}

type dumpRequest struct {
	options []string
	clean   bool
}

func decodeDump(n wire.Node) dumpRequest {
	r := dumpRequest{clean: n.Optional("clean_output").BoolOr(false)}
	for _, option := range n.Field("opts").Items() {
		r.options = append(r.options, option.String())
	}
	return r
}
