package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"annals/domain"
	"annals/domain/metadata"
	"annals/eventstore"
)

// History is the log, for those who look back at it.
type History interface {
	Find(context.Context, eventstore.Filter) ([]eventstore.Recorded, error)
	Get(ctx context.Context, position int64) (eventstore.Recorded, error)
	Verify(context.Context, eventstore.VerifyOptions) (eventstore.Report, error)
}

// eventBody is an event as the audit shows it: the operation as it was asked
// for, and what it did. Secrets in both are masked, so the hash, which is of
// what is stored, cannot be computed from it.
type eventBody struct {
	Position   int64           `json:"position"`
	ID         uuid.UUID       `json:"id"`
	Type       string          `json:"type"`
	Args       json.RawMessage `json:"args"`
	Changes    json.RawMessage `json:"changes"`
	Actor      json.RawMessage `json:"actor"`
	Comment    *string         `json:"comment"`
	Batch      *uuid.UUID      `json:"batch"`
	RecordedAt recordedAt      `json:"recorded_at"`
	Hash       hexBytes        `json:"hash"`
}

func showEvent(e eventstore.Recorded) eventBody {
	return eventBody{
		Position: e.Position, ID: e.ID, Type: e.Type,
		Args: metadata.Mask(e.Args), Changes: metadata.Mask(currentForm(e)), Actor: e.Actor,
		Comment: unlessZero(e.Comment), Batch: unlessZero(e.Batch),
		RecordedAt: recordedAt(e.RecordedAt), Hash: hexBytes(e.Hash),
	}
}

// currentForm is an event's changes in the form that is written today. What a
// newer release stored is shown as it is.
func currentForm(e eventstore.Recorded) json.RawMessage {
	changes, err := metadata.Upcast(e.SchemaVersion, e.Changes)
	if err != nil {
		return e.Changes
	}
	return changes
}

// unlessZero is null for a value that is not there.
func unlessZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// recordedAt is a time in the form of all audit answers: UTC, with the
// microseconds that the database keeps.
type recordedAt time.Time

func (t recordedAt) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000000Z"), nil
}

type hexBytes [32]byte

func (h hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// pathText returns a part of the request's path, as text that the database can
// hold. chi leaves it escaped where the path as a whole has to be.
func pathText(r *http.Request, name string) (string, error) {
	text := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		var err error
		if text, err = url.PathUnescape(text); err != nil {
			return "", notText(name)
		}
	}
	return text, checkText(name, text)
}

// checkText refuses what the database cannot hold as text.
func checkText(name, text string) error {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return notText(name)
	}
	return nil
}

func notText(name string) error {
	return domain.RefuseAt("$", domain.BadRequest, "%s: expected UTF-8 text without NUL characters", name)
}

// atURL gives a refusal by the store's own types the form of a refusal of the
// request.
func atURL(err error) error {
	var missing eventstore.NotFound
	if errors.As(err, &missing) {
		return &noSuchResource{"the history has no event at position " + itoa(missing.Position)}
	}
	return err
}
