package execution

import (
	"net/http"
	"strconv"

	"annals/domain"
)

// hopsHeader tells a remote server how many servers an operation came by. Two
// servers may have each other as remotes, or one itself: then a field that each
// believes the other's would be asked for without end.
const hopsHeader = "X-Remote-Hops"

// DefaultMaxHops is how many servers an operation may come by before it is
// asked of no further one.
const DefaultMaxHops = 8

// hops is how many servers a request came by, as it says itself. What is no
// number is none: a client can only harm its own request.
func (c Client) hops() int {
	n, err := strconv.Atoi(c.Header.Get(hopsHeader))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// countHop counts this server, and refuses to send an operation on that came by
// as many as it may.
func (e *Executor) countHop(h http.Header, c Client) error {
	hops := c.hops()
	if hops >= e.config.MaxHops {
		return domain.RefuseAt("$", domain.RemoteSchemaError,
			"the operation came by way of %d servers that ask each other, and may not go on (--remote-max-hops): a remote schema leads back to a server that it came from", hops)
	}
	h.Set(hopsHeader, strconv.Itoa(hops+1))
	return nil
}
