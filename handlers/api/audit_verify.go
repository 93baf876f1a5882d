package api

import (
	"net/http"

	"annals/eventstore"
)

// verifiedBody says that the history is as it was written; brokenBody, where
// it is not.
type verifiedBody struct {
	OK     bool     `json:"ok"`
	Events int64    `json:"events"`
	Head   headBody `json:"head"`
}

type headBody struct {
	Position int64    `json:"position"`
	Hash     hexBytes `json:"hash"`
}

type brokenBody struct {
	OK       bool   `json:"ok"`
	Position int64  `json:"position"`
	Reason   string `json:"reason"`
}

// auditVerify answers GET /v1/audit/verify: it computes the chain of hashes
// anew, from the first event to the last. A broken history is an answer, not an
// error.
func (a *API) auditVerify(w http.ResponseWriter, r *http.Request) {
	if _, err := filterOf(r, nil); err != nil {
		a.refuse(w, r, err)
		return
	}
	report, err := a.history.Verify(r.Context(), eventstore.VerifyOptions{})
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	if !report.OK {
		a.succeed(w, r, encode(brokenBody{false, report.Position, report.Reason}))
		return
	}
	head := headBody{report.Head.Position, hexBytes(report.Head.Hash)}
	a.succeed(w, r, encode(verifiedBody{true, report.Events, head}))
}
