package wire

import (
	"math"
	"strconv"
	"strings"
)

// MaxPlainDigits is how long a number is written out that was given with an exponent.
const MaxPlainDigits = 1000

// decimal is a JSON number taken apart: its value is 0.digits times ten to the
// power of point. Of digits, zeros stand neither first nor last.
type decimal struct {
	sign   string
	digits string
	point  int
}

// farthest is where exponents end: no type of the database reaches there.
const farthest = math.MaxInt32

func decimalOf(number string) decimal {
	var d decimal
	number, negative := strings.CutPrefix(number, "-")
	if negative {
		d.sign = "-"
	}
	mantissa, exponentText, _ := strings.Cut(strings.ToLower(number), "e")
	// One that is too large is the largest, which leaves room for the digits.
	exponent, _ := strconv.Atoi(exponentText)
	exponent = min(max(exponent, -farthest), farthest)
	before, after, _ := strings.Cut(mantissa, ".")
	significant := strings.TrimLeft(before+after, "0")
	d.point = len(before) + exponent - (len(before+after) - len(significant))
	d.digits = strings.TrimRight(significant, "0")
	return d
}

// plain is the number without an exponent.
func (d decimal) plain() (before, after string) {
	switch {
	case d.digits == "":
		return "0", ""
	case d.point <= 0:
		return "0", strings.Repeat("0", -d.point) + d.digits
	case d.point >= len(d.digits):
		return d.digits + strings.Repeat("0", d.point-len(d.digits)), ""
	}
	return d.digits[:d.point], d.digits[d.point:]
}

// Scientific prints a number as v1.3 does: 2.147483648e9, and with a plain
// point from 0.1 up to ten million.
func Scientific(number string) string {
	d := decimalOf(number)
	switch before, after := "", ""; {
	case d.digits == "":
		return "0.0"
	case d.point >= 0 && d.point <= 7:
		before, after = d.plain()
		return d.sign + before + "." + orZero(after)
	}
	return d.sign + d.digits[:1] + "." + orZero(d.digits[1:]) + "e" + strconv.Itoa(d.point-1)
}

func orZero(digits string) string {
	if digits == "" {
		return "0"
	}
	return digits
}

// Plain prints a number without an exponent. One that would be longer than
// [MaxPlainDigits] stays as it was written.
func Plain(number string) string {
	d := decimalOf(number)
	if !strings.ContainsAny(number, "eE") || d.point > MaxPlainDigits || d.point < -MaxPlainDigits {
		return number
	}
	before, after := d.plain()
	if after == "" {
		return d.sign + before
	}
	return d.sign + before + "." + after
}

// Packed prints a number with the decimals that it has when v1.3 packs it for
// PostgreSQL: always four at a time.
func Packed(number string) string {
	number = Plain(number)
	_, after, hasPoint := strings.Cut(number, ".")
	if !hasPoint || strings.ContainsAny(number, "eE") {
		return number
	}
	return number + strings.Repeat("0", -len(after)&3)
}
