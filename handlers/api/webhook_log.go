package api

import (
	"log/slog"
	"net/http"
	"net/url"

	"annals/handlers/api/auth"
)

// LineWebhook tells of a call of the authentication webhook.
const LineWebhook = "webhook-log"

type webhookDetail struct {
	Status   *int          `json:"status_code"`
	URL      string        `json:"url"`
	Method   auth.HookMode `json:"method"`
	Error    *string       `json:"http_error"`
	Response *string       `json:"response"` // null: a session is not logged twice, and a failure's text may be anything
}

// HookLine is the line about a call of the authentication webhook: an error
// unless the webhook said who asks, or that it does not know.
func HookLine(c auth.HookCall) Line {
	d := webhookDetail{URL: withoutCredentials(c.URL), Method: c.Mode}
	level := slog.LevelInfo
	if c.Status != 0 {
		d.Status = &c.Status
	}
	if c.Err != nil {
		d.Error = new(c.Err.Error())
	}
	if c.Err != nil || c.Status != http.StatusOK && c.Status != http.StatusUnauthorized {
		level = slog.LevelError
	}
	return Line{LineWebhook, level, d}
}

// withoutCredentials keeps of a URL what cannot hold any.
func withoutCredentials(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
