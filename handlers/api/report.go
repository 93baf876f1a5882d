package api

import (
	"net/http"
	"time"
)

// Report is what the config API tells of the running configuration. The
// version is added from [Config.Version].
type Report struct {
	AdminSecretSet   bool
	AuthHookSet      bool
	JWT              *JWTReport // nil: no JWT is set
	AllowListEnabled bool
	LiveQueries      LiveQueriesReport
	ConsoleAssetsDir string // empty: none
}

// JWTReport says where the claims are in a token.
type JWTReport struct {
	// ClaimsNamespace is a claim's name, or the path that ClaimsNamespacePath is.
	ClaimsNamespace     string `json:"claims_namespace"`
	ClaimsNamespacePath string `json:"claims_namespace_path,omitempty"` // empty: a name was given
	ClaimsFormat        string `json:"claims_format"`
	ClaimsMap           any    `json:"claims_map"`
}

// LiveQueriesReport says how subscriptions are polled.
type LiveQueriesReport struct {
	BatchSize    int           // subscribers that share one statement
	RefetchDelay time.Duration // between two polls
}

// reportBody is the report on the wire.
type reportBody struct {
	Version          string          `json:"version"`
	AdminSecretSet   bool            `json:"is_admin_secret_set"`
	AuthHookSet      bool            `json:"is_auth_hook_set"`
	JWTSet           bool            `json:"is_jwt_set"`
	JWT              *JWTReport      `json:"jwt"`
	AllowListEnabled bool            `json:"is_allow_list_enabled"`
	LiveQueries      liveQueriesBody `json:"live_queries"`
	ConsoleAssetsDir *string         `json:"console_assets_dir"`
}

type liveQueriesBody struct {
	BatchSize    int     `json:"batch_size"`
	RefetchDelay float64 `json:"refetch_delay"` // seconds
}

// config answers GET /v1alpha1/config.
func (a *API) config(w http.ResponseWriter, r *http.Request) {
	report := a.cfg.Report
	body := reportBody{
		Version:          a.cfg.Version,
		AdminSecretSet:   report.AdminSecretSet,
		AuthHookSet:      report.AuthHookSet,
		JWTSet:           report.JWT != nil,
		JWT:              report.JWT,
		AllowListEnabled: report.AllowListEnabled,
		LiveQueries:      liveQueriesBody{report.LiveQueries.BatchSize, report.LiveQueries.RefetchDelay.Seconds()},
	}
	if report.ConsoleAssetsDir != "" {
		body.ConsoleAssetsDir = &report.ConsoleAssetsDir
	}
	a.succeed(w, r, encode(body))
}
