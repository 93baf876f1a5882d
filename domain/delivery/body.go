package delivery

import (
	"encoding/json"
	"strconv"
	"time"

	"annals/domain/wire"
)

// bodyOf is the body of a delivery's request after some tries, as v1.3 has it.
func bodyOf(d Delivery, p Plan, tries int) []byte {
	o := newObject(len(d.Payload) + 256)
	o.text("id", d.ID)
	switch {
	case d.Kind.OfEventTrigger():
		o.text("created_at", timestamp(d.CreatedAt))
		o.object("trigger").text("name", d.Trigger).end()
		o.object("table").text("schema", d.Schema).text("name", d.Table).end()
		o.raw("event", d.Payload)
		o.object("delivery_info").number("current_retry", tries).number("max_retries", p.Policy.Retries).end()
		return o.close()
	case d.Kind == Cron:
		o.text("name", d.Trigger)
	default:
		o.text("created_at", timestamp(d.CreatedAt))
	}
	o.text("scheduled_time", timestamp(d.DueAt))
	o.raw("payload", d.Payload)
	if p.Comment != nil {
		o.text("comment", *p.Comment)
	}
	return o.close()
}

// timestamp is a moment in UTC, as far as microseconds, trailing zeros dropped.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// object writes a JSON object. JSON that is put into it stays as it is, byte
// for byte.
type object struct {
	b []byte
	// begun is set once the object has a member.
	begun bool
}

func newObject(size int) *object { return &object{b: append(make([]byte, 0, size), '{')} }

func (o *object) name(name string) {
	if o.begun {
		o.b = append(o.b, ',')
	}
	o.begun = true
	o.b = append(wire.AppendString(o.b, name), ':')
}

func (o *object) text(name, value string) *object {
	o.name(name)
	o.b = wire.AppendString(o.b, value)
	return o
}

func (o *object) number(name string, value int) *object {
	o.name(name)
	o.b = strconv.AppendInt(o.b, int64(value), 10)
	return o
}

func (o *object) raw(name string, value json.RawMessage) *object {
	o.name(name)
	if value == nil {
		value = json.RawMessage("null")
	}
	o.b = append(o.b, value...)
	return o
}

// object begins an object within.
func (o *object) object(name string) *object {
	o.name(name)
	o.b = append(o.b, '{')
	o.begun = false
	return o
}

// end ends an object within.
func (o *object) end() *object {
	o.b = append(o.b, '}')
	o.begun = true
	return o
}

func (o *object) close() []byte { return append(o.b, '}') }
