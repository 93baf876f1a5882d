package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/jackc/pgx/v5"
)

// A codedCase does by hand what the YAML of a case cannot say.
type codedCase func(ctx context.Context, w *world, c indexedCase) error

func codedSteps() map[string]codedCase {
	steps := map[string]codedCase{
		"test_version.py::TestServerVersion.test_version":                              serverVersion,
		"test_config_api.py::TestConfigAPI.test_config_api":                            configAPI,
		"test_apis_disabled.py::TestMetadataDisabled.test_metadata_v1_query_disabled":  disabled("/v1/query"),
		"test_apis_disabled.py::TestMetadataDisabled.test_graphql_explain_disabled":    disabled("/v1/graphql/explain"),
		"test_apis_disabled.py::TestGraphQLDisabled.test_graphql_endpoint_disabled":    disabled("/v1/graphql"),
		"test_inconsistent_meta.py::TestInconsistentObjects.test_inconsistent_objects": inconsistentObjects,
		"test_compression.py::TestCompression.test_gzip_compression_graphql":           compressedAnswer,
	}
	maps.Copy(steps, eventCases())
	maps.Copy(steps, scheduleCases())
	maps.Copy(steps, remoteCases())
	maps.Copy(steps, joinCases())
	maps.Copy(steps, corsCases())
	maps.Copy(steps, subscriptionCases())
	maps.Copy(steps, actionCases())
	maps.Copy(steps, engineCases())
	maps.Copy(steps, jwtCases())
	maps.Copy(steps, webhookAuthCases())
	maps.Copy(steps, loggingCases())
	return steps
}

// stepsOfTheIndex is for cases whose index line says it all after all.
func stepsOfTheIndex(ctx context.Context, w *world, c indexedCase) error {
	return w.indexedSteps(ctx, c, "http")
}

func serverVersion(ctx context.Context, w *world, _ indexedCase) error {
	_, err := w.version(ctx)
	return err
}

func (w *world) version(ctx context.Context) (string, error) {
	a, err := w.send(ctx, http.MethodGet, "/v1/version", nil, nil)
	if err != nil {
		return "", err
	}
	version := text(get(a.body, "version"))
	if a.status != http.StatusOK || version == "" {
		return "", fmt.Errorf("wanted 200 and a version, got %d: %s", a.status, a.raw)
	}
	return version, nil
}

func configAPI(ctx context.Context, w *world, _ indexedCase) error {
	version, err := w.version(ctx)
	if err != nil {
		return err
	}
	a, err := w.send(ctx, http.MethodGet, "/v1alpha1/config", nil, w.withSecret(nil))
	if err != nil {
		return err
	}
	var jwt any
	if w.mode.gate == jwtGate {
		jwt = makeObject("claims_namespace", claimsNamespace, "claims_format", "json", "claims_map", nil)
	}
	for field, want := range map[string]any{
		"version":             version,
		"is_admin_secret_set": w.mode.secret != "",
		"is_auth_hook_set":    w.mode.gate == webhookGate,
		"is_jwt_set":          w.mode.gate == jwtGate,
		"jwt":                 jwt,
	} {
		if a.status != http.StatusOK || !has(a.body, field) {
			return fmt.Errorf("wanted 200 and %s, got %d: %s", field, a.status, a.raw)
		}
		if err := sameText(canonical(want, nil), canonical(get(a.body, field), nil)); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return w.configNeedsSecret(ctx)
}

func (w *world) configNeedsSecret(ctx context.Context) error {
	if w.mode.secret == "" {
		return nil
	}
	a, err := w.send(ctx, http.MethodGet, "/v1alpha1/config", nil, nil)
	if err != nil {
		return err
	}
	if a.status != http.StatusBadRequest && a.status != http.StatusUnauthorized {
		return fmt.Errorf("without the secret wanted 400 or 401, got %d: %s", a.status, a.raw)
	}
	return nil
}

// disabled wants the address to be gone, and the client to be told in JSON.
func disabled(url string) codedCase {
	return func(ctx context.Context, w *world, c indexedCase) error {
		gone := request{url: url, status: http.StatusNotFound, query: newObject()}
		if err := w.check(ctx, gone, c.auth); err != nil {
			return err
		}
		a, err := w.post(ctx, url, newObject(), nil)
		if err != nil {
			return err
		}
		if a.body == nil {
			return errors.New("a 404 has a JSON body, this one is empty")
		}
		return nil
	}
}

// inconsistentObjects drops a table behind the server's back and wants to be
// told exactly what no longer fits, and to be able to clean up.
func inconsistentObjects(ctx context.Context, w *world, c indexedCase) error {
	scene, err := readScene(w.cases, c.onlyFile())
	if err != nil {
		return err
	}
	if _, err := w.admin(ctx, get(scene, "setup"), http.StatusOK); err != nil {
		return err
	}
	err = w.onDatabase(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, text(get(scene, "sql")))
		return err
	})
	if err != nil {
		return err
	}
	if err := w.reportInconsistent(ctx, get(scene, "inconsistent_objects")); err != nil {
		return err
	}
	_, err = w.admin(ctx, get(scene, "teardown"), http.StatusOK)
	return err
}

func (w *world) reportInconsistent(ctx context.Context, objects any) error {
	if err := w.operations(ctx, "reload_metadata"); err != nil {
		return err
	}
	if err := w.wantConsistency(ctx, false, objects); err != nil {
		return err
	}
	exported, err := w.admin(ctx, operation("export_metadata"), http.StatusOK)
	if err != nil {
		return err
	}
	replace := makeObject("type", "replace_metadata", "args", exported.body)
	if _, err := w.admin(ctx, replace, http.StatusBadRequest); err != nil {
		return err
	}
	if err := w.operations(ctx, "drop_inconsistent_metadata", "reload_metadata"); err != nil {
		return err
	}
	return w.wantConsistency(ctx, true, []any{})
}

func operation(name string) any { return makeObject("type", name, "args", newObject()) }

func (w *world) operations(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, err := w.admin(ctx, operation(name), http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) wantConsistency(ctx context.Context, consistent bool, objects any) error {
	a, err := w.admin(ctx, operation("get_inconsistent_metadata"), http.StatusOK)
	if err != nil {
		return err
	}
	want := makeObject("is_consistent", consistent, "inconsistent_objects", objects)
	return sameText(canonical(want, nil), canonical(a.body, nil))
}

// compressedAnswer wants the answer packed for a client that can unpack it.
func compressedAnswer(ctx context.Context, w *world, c indexedCase) error {
	requests, err := readRequests(w.cases, c.onlyFile())
	if err != nil {
		return err
	}
	for _, r := range requests {
		a, err := w.postPacked(ctx, r)
		if err != nil {
			return err
		}
		if err := r.judge(a); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) postPacked(ctx context.Context, r request) (answer, error) {
	headers := w.withSecret(r.headers)
	headers["Accept-Encoding"] = "gzip" // said by hand, it is unpacked by hand
	a, err := w.exchange(ctx, http.MethodPost, r.url, toJSON(r.query), headers)
	if err != nil {
		return a, err
	}
	if encoding := a.header.Get("Content-Encoding"); encoding != "gzip" {
		return a, fmt.Errorf("wanted the answer in gzip, got %q", encoding)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(a.raw))
	if err != nil {
		return a, fmt.Errorf("unpack the answer: %w", err)
	}
	if a.raw, err = io.ReadAll(unpacked); err != nil {
		return a, fmt.Errorf("unpack the answer: %w", err)
	}
	return a.decoded()
}
