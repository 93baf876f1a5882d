package main

import (
	"encoding/json"
	"strconv"
	"time"

	"annals/domain"
	"annals/domain/metadata"
)

// event is an event as the audit tells it, as far as tools show it.
type event struct {
	Position   int64             `json:"position"`
	ID         string            `json:"id"`
	Type       string            `json:"type"`
	Args       json.RawMessage   `json:"args"`
	Changes    []metadata.Change `json:"changes"`
	Actor      domain.Actor      `json:"actor"`
	Comment    string            `json:"comment"`
	Batch      string            `json:"batch"`
	RecordedAt time.Time         `json:"recorded_at"`
	Hash       string            `json:"hash"`
	PrevHash   string            `json:"prev_hash"`
}

// timeLayout is how a moment is shown, in the time zone of who looks.
const timeLayout = "2006-01-02 15:04:05"

func (e event) when() string { return e.RecordedAt.Local().Format(timeLayout) }

// momentOf is a moment as the API takes it: a position is a number.
func momentOf(text string) any {
	if position, err := strconv.ParseInt(text, 10, 64); err == nil {
		return position
	}
	return text
}
