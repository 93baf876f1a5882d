package main

import (
	"fmt"
	"math"
	"net/netip"
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

// apiNames and logTypeNames are lists separated by commas, of known names:
// blanks around them, and case, do not matter.
type (
	apiNames     []string
	logTypeNames []string
)

// Decode implements kong's mapper.
func (n *apiNames) Decode(ctx *kong.DecodeContext) (err error) {
	*n, err = decodeNames(ctx, knownAPIs)
	return err
}

// Decode implements kong's mapper.
func (n *logTypeNames) Decode(ctx *kong.DecodeContext) (err error) {
	*n, err = decodeNames(ctx, knownLogTypes)
	return err
}

func decodeNames(ctx *kong.DecodeContext, known []string) ([]string, error) {
	text, err := textOf(ctx)
	if err != nil {
		return nil, err
	}
	return namesIn(text, known)
}

// namesIn reads a list of known names.
func namesIn(text string, known []string) ([]string, error) {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		name := strings.ToLower(strings.TrimSpace(part))
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is none of %s", part, strings.Join(known, ", "))
		}
		list = append(list, name)
	}
	return list, nil
}

// prefixes are ranges of addresses, separated by commas; an address alone is a
// range too.
type prefixes []netip.Prefix

// Decode implements kong's mapper.
func (p *prefixes) Decode(ctx *kong.DecodeContext) error {
	text, err := textOf(ctx)
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	var list prefixes
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := prefixOf(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%q is no range of addresses: expecting something like 10.0.0.0/8, or 10.0.0.7", part)
		}
		list = append(list, prefix)
	}
	*p = list
	return nil
}

func prefixOf(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Prefix(address.BitLen())
	}
	return netip.ParsePrefix(text)
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
	err := ctx.Scan.PopValueInto("a", &text)
	return text, err
}
