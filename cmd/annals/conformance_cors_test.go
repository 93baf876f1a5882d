package main_test

import (
	"context"
	"fmt"
	"net/http"
)

// Section 6.7 of the cases' description: which origins a browser may call from.

func corsCases() map[string]codedCase {
	const class = "test_cors.py::TestCors."
	return map[string]codedCase{
		class + "test_cors_foo_bar_top_domain": origin("https://foo.bar.com", false),
		class + "test_cors_foo_bar_sub_domain": origin("https://app.foo.bar.com", true),
		class + "test_cors_wrong_domain":       origin("https://example.com", false),
	}
}

func origin(from string, allowed bool) codedCase {
	want := map[string]string{
		"Access-Control-Allow-Origin":      from,
		"Access-Control-Allow-Credentials": "true",
		"Access-Control-Allow-Methods":     "GET,POST,PUT,PATCH,DELETE,OPTIONS",
	}
	return func(ctx context.Context, w *world, _ indexedCase) error {
		a, err := w.send(ctx, http.MethodGet, "/v1/version", nil, map[string]string{"Origin": from})
		if err != nil {
			return err
		}
		for name, value := range want {
			if !allowed {
				value = ""
			}
			if got := a.header.Get(name); got != value {
				return fmt.Errorf("origin %s: wanted %s %q, got %q", from, name, value, got)
			}
		}
		return nil
	}
}
