package wire_test

import (
	"testing"

	"annals/domain/wire"
)

func TestNumbersArePrintedAsV13DoesAndAsPostgreSQLTakesThem(t *testing.T) {
	for number, want := range map[string]struct{ scientific, plain, packed string }{
		"0":          {"0.0", "0", "0"},
		"-0.0":       {"0.0", "-0.0", "-0.0000"},
		"5":          {"5.0", "5", "5"},
		"1.1":        {"1.1", "1.1", "1.1000"},
		"-1.1":       {"-1.1", "-1.1", "-1.1000"},
		"12345.67":   {"12345.67", "12345.67", "12345.6700"},
		"0.10":       {"0.1", "0.10", "0.1000"},
		"0.05":       {"5.0e-2", "0.05", "0.0500"},
		"2147483648": {"2.147483648e9", "2147483648", "2147483648"},
		"-2E-2":      {"-2.0e-2", "-0.02", "-0.0200"},
		"-1e-30":     {"-1.0e-30", "-0.000000000000000000000000000001", "-0.00000000000000000000000000000100"},
		"1.5e3":      {"1500.0", "1500", "1500"},
		"12.5E-1":    {"1.25", "1.25", "1.2500"},
		"9999999.5":  {"9999999.5", "9999999.5", "9999999.5000"},
		"1e99999":    {"1.0e99999", "1e99999", "1e99999"},

		"0.001e-99999999999999999999": {"1.0e-2147483650", "0.001e-99999999999999999999", "0.001e-99999999999999999999"},
		"10e99999999999999999999":     {"1.0e2147483648", "10e99999999999999999999", "10e99999999999999999999"},
	} {
		if got := wire.Scientific(number); got != want.scientific {
			t.Errorf("Scientific(%s) = %s, not %s", number, got, want.scientific)
		}
		if got := wire.Plain(number); got != want.plain {
			t.Errorf("Plain(%s) = %s, not %s", number, got, want.plain)
		}
		if got := wire.Packed(number); got != want.packed {
			t.Errorf("Packed(%s) = %s, not %s", number, got, want.packed)
		}
	}
}
