package main

import (
	"cmp"
	"fmt"

	"annals/handlers/api"
	"annals/handlers/api/auth"
)

// authOf says how the settings want callers to be told apart.
func authOf(cfg Serve) (auth.Config, error) {
	c := auth.Config{UnauthorizedRole: cfg.UnauthorizedRole, HeaderPrefix: cfg.HeaderPrefix, SecretsFile: cfg.AdminSecretsFile}
	if secret := cfg.secret(); secret != "" {
		c.Secrets = []auth.Secret{{Name: cmp.Or(cfg.credential, "admin-secret"), Value: secret}}
	}
	if cfg.AuthHook != "" {
		c.Webhook = &auth.WebhookConfig{URL: cfg.AuthHook, Mode: auth.HookMode(cfg.AuthHookMode)}
	}
	if cfg.JWTSecret != "" {
		jwt, err := auth.ParseJWTConfig(cfg.JWTSecret)
		if err != nil {
			return c, fmt.Errorf("--jwt-secret: %w", err)
		}
		c.JWT = &jwt
	}
	return c, nil
}

// jwtReport is what the config API tells of JWT; nil when it is not set.
func jwtReport(cfg *auth.JWTConfig) *api.JWTReport {
	if cfg == nil {
		return nil
	}
	report := &api.JWTReport{ClaimsNamespace: cfg.ClaimsNamespace(), ClaimsNamespacePath: cfg.ClaimsNamespacePath(), ClaimsFormat: cfg.ClaimsFormat()}
	if claims := cfg.ClaimsMap(); claims != nil {
		report.ClaimsMap = claims
	}
	return report
}
