package auth

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxLifetime bounds how long anything that was fetched is believed, and keeps
// a number that somebody else chose inside what a duration can hold.
const maxLifetime = 365 * 24 * time.Hour

// lifetime is how long something is good for in the words of HTTP caching.
// Cache-Control goes before Expires. It is not known when neither says so.
func lifetime(cacheControl, expires string, now time.Time) (time.Duration, bool) {
	for _, directive := range [2]string{"max-age", "s-maxage"} {
		if seconds, ok := seconds(cacheControl, directive); ok {
			return seconds, true
		}
	}
	at, err := http.ParseTime(strings.TrimSpace(expires))
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxLifetime), true
}

// seconds returns the value of a directive such as max-age=60.
func seconds(cacheControl, directive string) (time.Duration, bool) {
	for part := range strings.SplitSeq(cacheControl, ",") {
		name, value, _ := strings.Cut(part, "=")
		if !strings.EqualFold(strings.TrimSpace(name), directive) {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 31)
		if err != nil {
			return 0, false
		}
		return min(time.Duration(n)*time.Second, maxLifetime), true
	}
	return 0, false
}

// forbidsKeeping reports whether an answer is not to be kept at all.
func forbidsKeeping(cacheControl string) bool {
	for part := range strings.SplitSeq(cacheControl, ",") {
		switch strings.ToLower(strings.TrimSpace(part)) {
		case "no-store", "no-cache":
			return true
		}
	}
	return false
}
