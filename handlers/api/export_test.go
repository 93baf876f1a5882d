package api

import "context"

// Look asks the database once, as Watch does again and again.
func (a *API) Look(ctx context.Context) { a.look(ctx) }
