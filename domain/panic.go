package domain

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic as an error, with the stack that it came from.
type Panic struct {
	cause any
	stack []byte
}

// Recovered makes an error of what recover returned. It is to be called by the
// deferred function itself, so that the stack is that of the panic.
func Recovered(cause any) *Panic { return &Panic{cause, debug.Stack()} }

func (p *Panic) Error() string { return fmt.Sprint("panic: ", p.cause) }

// Stack is where it came from, as [debug.Stack] writes it.
func (p *Panic) Stack() []byte { return p.stack }
