package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// toggle is a boolean that also takes the spellings of v1.3.
type toggle bool

// IsBool lets a flag stand without a value.
func (*toggle) IsBool() bool { return true }

// Decode implements kong's mapper.
func (t *toggle) Decode(ctx *kong.DecodeContext) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken && ctx.Scan.Peek().Type != kong.ShortFlagTailToken {
		*t = true
		return nil
	}
	text, err := textOf(ctx)
	if err != nil {
		return err
	}
	switch strings.ToLower(text) {
	case "true", "t", "yes", "y", "1":
		*t = true
	case "false", "f", "no", "n", "0":
		*t = false
	default:
		return fmt.Errorf("%q is not a boolean: expecting true, t, yes, y, false, f, no or n", text)
	}
	return nil
}

// names is a list separated by commas: blanks around, and case, do not matter.
type names []string

// Decode implements kong's mapper.
func (n *names) Decode(ctx *kong.DecodeContext) error {
	text, err := textOf(ctx)
	if err != nil {
		return err
	}
	*n = names{}
	for part := range strings.SplitSeq(text, ",") {
		*n = append(*n, strings.ToLower(strings.TrimSpace(part)))
	}
	return nil
}

func (n names) unknown(known []string) string {
	for _, name := range n {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// size is a number of bytes, as 1048576, 1024KiB or 1MiB.
type size int64

type sizeUnit struct {
	suffix string
	factor int64
}

// Decode implements kong's mapper.
func (b *size) Decode(ctx *kong.DecodeContext) error {
	text, err := textOf(ctx)
	if err != nil {
		return err
	}
	for _, unit := range []sizeUnit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}} {
		if !strings.HasSuffix(text, unit.suffix) {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, unit.suffix)), 10, 64)
		if err == nil && n > 0 && n <= math.MaxInt64/unit.factor {
			*b = size(n * unit.factor)
			return nil
		}
	}
	return fmt.Errorf("%q is not a size: expecting a number above 0 with B, KiB, MiB or GiB, such as 100MiB", text)
}

// duration is a time span, as 90s or 1h30m, or as plain seconds: the form that
// v1.3 has.
type duration time.Duration

// Decode implements kong's mapper.
func (d *duration) Decode(ctx *kong.DecodeContext) error {
	text, err := textOf(ctx)
	if err != nil {
		return err
	}
	span, err := time.ParseDuration(text)
	if _, plain := strconv.ParseFloat(text, 64); plain == nil {
		span, err = time.ParseDuration(text + "s")
	}
	if err != nil || span < 0 {
		return fmt.Errorf("%q is not a time span: expecting seconds, or a number with a unit, such as 90s or 10m", text)
	}
	*d = duration(span)
	return nil
}

func textOf(ctx *kong.DecodeContext) (string, error) {
	var text string
	err := ctx.Scan.PopValueInto("value", &text)
	return text, err
}
