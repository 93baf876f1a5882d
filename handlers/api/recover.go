package api

import (
	"errors"
	"net/http"

	"annals/domain"
)

// recover turns a panic into an internal error, and its stack into a line of
// the log. Where an answer has begun, the connection is cut, so that nobody
// takes a part of it for the whole.
func (a *API) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil {
				a.afterPanic(w, r, cause)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (a *API) afterPanic(w http.ResponseWriter, r *http.Request, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause) // net/http's own way of giving up an answer
	}
	failure := domain.Recovered(cause)
	if w.(*paced).status != 0 {
		a.logInternal(r, failure)
		panic(http.ErrAbortHandler)
	}
	a.refuse(w, r, failure)
}
