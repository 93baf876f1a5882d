package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// console is where a subcommand reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
	// colours: out is a terminal, and nobody asked for plain text.
	colours bool
	// lively: err is a terminal, where something may move.
	lively bool
}

func newConsole(in io.Reader, out, err *os.File) console {
	return console{
		in: in, out: out, err: err,
		colours: isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		lively:  isTerminal(err) && os.Getenv("TERM") != "dumb",
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// fail tells what went wrong, in one line, and returns the exit status.
func (c console) fail(status int, err error) int {
	fmt.Fprintln(c.err, "annals: "+oneLine(err.Error()))
	return status
}

// printJSON prints an answer of the API as it is.
func (c console) printJSON(body []byte) error {
	_, err := fmt.Fprintf(c.out, "%s\n", body)
	return err
}

// colour is how a text is shown on a terminal.
type colour string

const (
	green  colour = "\x1b[32m"
	red    colour = "\x1b[31m"
	yellow colour = "\x1b[33m"
	faint  colour = "\x1b[2m"
	bold   colour = "\x1b[1m"
)

func (c console) paint(with colour, text string) string {
	if !c.colours || text == "" {
		return text
	}
	return string(with) + text + "\x1b[0m"
}

// oneLine makes text that others wrote fit for a line of a terminal: it
// neither ends the line nor moves the cursor.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case movesCursor(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(text, "\n"))
}

// movesCursor reports whether a terminal does something else with a character
// than to show it.
func movesCursor(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

const (
	// patience is how long work may take before it is said that it goes on.
	patience = time.Second
	// spin is the time between two movements of what is shown then.
	spin = 100 * time.Millisecond
)

// busy does work, and shows that it goes on once that takes a while.
func (c console) busy(label string, work func() error) error {
	if !c.lively {
		return work()
	}
	done, shown := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		c.spin(label, done)
	}()
	err := work()
	close(done)
	<-shown
	return err
}

// spin moves until done.
func (c console) spin(label string, done <-chan struct{}) {
	select {
	case <-done:
		return
	case <-time.After(patience):
	}
	bar := progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(c.err), progressbar.OptionSetDescription(label),
		progressbar.OptionSpinnerType(14), progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(true))
	tick := time.NewTicker(spin)
	defer tick.Stop()
	for {
		select {
		case <-done:
			_ = bar.Finish() // a terminal that has gone is told nothing
			return
		case <-tick.C:
			_ = bar.Add(1)
		}
	}
}
