package localpg

import (
	"context"
	"time"
)

// Terminate stops the server as the last Stop does, with the test's patience.
func Terminate(ctx context.Context, s *Server, order, quit time.Duration) error {
	p, err := s.folder.postmaster()
	if err != nil {
		return err
	}
	return s.folder.terminate(ctx, p.pid, order, quit)
}
