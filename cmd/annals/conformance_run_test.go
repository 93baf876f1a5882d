package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"annals/migrations/pgtest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
)

var errNoPostGIS = errors.New("the scene needs the PostGIS extension, which this PostgreSQL does not have")

// A classRun takes the cases of one class through every mode.
type classRun struct {
	t     *testing.T
	suite *suite
	cases []indexedCase
	up    []string
	down  []string
	hooks []string // the helper servers that any of the cases needs
	modes []*modeRun
}

// A modeRun is one mode of a class: its world, made when first needed and
// again after a case failed, so that no failure spoils what follows.
type modeRun struct {
	mode   mode
	world  *world
	broken error // the class's own scene failed: no case can run
}

// A world is a fresh database, a fresh server on it, and the class's scene.
type world struct {
	*client
	cases     string
	database  string
	server    *server
	webhooks  webhooks
	websocket map[string]*socket // by path, opened when first needed
	cronFirst time.Time          // when the cron chain's trigger is to fire first
}

func newClassRun(t *testing.T, s *suite, cases []indexedCase) *classRun {
	r := &classRun{t: t, suite: s, cases: cases, up: cases[0].classUp, down: cases[0].classDown}
	for _, c := range cases {
		r.hooks = append(r.hooks, c.helpers...)
	}
	slices.Sort(r.hooks)
	r.hooks = slices.Compact(r.hooks)
	for _, m := range modes() {
		r.modes = append(r.modes, &modeRun{mode: m})
	}
	return r
}

func (r *classRun) run() {
	if len(r.hooks) > 0 {
		r.suite.ports.Lock()
		defer r.suite.ports.Unlock()
	}
	for _, c := range r.cases {
		for _, transport := range c.transports {
			r.t.Run(fmt.Sprintf("%s[%s]", c.name, transport), func(t *testing.T) { r.settle(t, c, transport) })
		}
	}
	for _, m := range r.modes {
		assert.NoError(r.t, r.close(m), "after the last case, mode %s", m.mode.name)
	}
}

// settle holds the outcome of one case against the known failures.
func (r *classRun) settle(t *testing.T, c indexedCase, transport string) {
	failure := r.runInAllModes(t.Context(), c, transport)
	if errors.Is(failure, errNoPostGIS) {
		r.suite.tally.count(c.feature, notPossible)
		t.Skip(failure)
	}
	if failure == nil {
		r.suite.tally.count(c.feature, passed)
	} else {
		r.suite.tally.count(c.feature, failed)
	}
	if _, groundless := r.suite.known[featureLine(c.feature)]; groundless {
		if failure != nil {
			t.Logf("known (%s): %v", featureLine(c.feature), failure)
		}
		return
	}
	if complaint := r.suite.known.settle(caseLine(c, transport), failure); complaint != nil {
		t.Error(complaint)
	} else if failure != nil {
		t.Logf("known: %v", failure)
	}
}

func (r *classRun) runInAllModes(ctx context.Context, c indexedCase, transport string) error {
	for _, m := range r.modes {
		if err := r.runInMode(ctx, m, c, transport); err != nil {
			return fmt.Errorf("mode %s: %w", m.mode.name, err)
		}
	}
	return nil
}

func (r *classRun) runInMode(ctx context.Context, m *modeRun, c indexedCase, transport string) error {
	if m.broken != nil {
		return m.broken
	}
	if m.world == nil {
		if m.world, m.broken = r.open(ctx, m.mode, c); m.broken != nil {
			return m.broken
		}
	}
	err := m.world.runCase(ctx, c, transport)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w\nthe server's output ends:\n%s", err, m.world.server.output)
	return errors.Join(err, m.discard())
}

// open makes the world of a class, its scene posted.
func (r *classRun) open(ctx context.Context, m mode, c indexedCase) (*world, error) {
	w := &world{cases: r.suite.cases, database: pgtest.Empty(r.t), websocket: map[string]*socket{}}
	how := launch{program: r.suite.program, database: w.database, environment: environment()}
	how.with(m, settings(c.note))
	var err error
	if w.webhooks, err = openWebhooks(r.hooks); err != nil {
		return nil, err
	}
	if w.server, err = how.start(ctx); err != nil {
		return nil, errors.Join(err, w.webhooks.close())
	}
	w.client = newClient(w.server.url, m)
	if err := w.prepare(ctx, r.up, c); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// prepare posts what stands before a class. Where the metadata API is off
// there is nobody to post it to, and no case that would need it.
func (w *world) prepare(ctx context.Context, up []string, c indexedCase) error {
	if strings.HasSuffix(c.note, "enabled-apis=graphql") {
		return nil
	}
	const emptySchema = "drop schema if exists hge_tests cascade; create schema hge_tests;"
	if _, err := w.runSQL(ctx, emptySchema); err != nil {
		return fmt.Errorf("create schema hge_tests: %w", err)
	}
	return w.postScene(ctx, up, c.note)
}

// close takes an undisturbed class down as its index line says.
func (r *classRun) close(m *modeRun) error {
	if m.world == nil {
		return nil
	}
	err := m.world.postScene(context.WithoutCancel(r.t.Context()), r.down, "")
	return errors.Join(err, m.discard())
}

func (m *modeRun) discard() error {
	w := m.world
	m.world = nil
	return w.stop()
}

func (w *world) stop() error {
	for _, s := range w.websocket {
		s.close()
	}
	return errors.Join(w.server.stop(), w.webhooks.close())
}

// environment is what every server of the cases finds set.
func environment() []string {
	return []string{
		"SERVICE_GRAPHQL_STRINGIFY_NUMERIC_TYPES=true",
		"EVENT_WEBHOOK_HEADER=MyEnvValue",
		"WEBHOOK_FROM_ENV=http://127.0.0.1:5592",
		"SCHEDULED_TRIGGERS_WEBHOOK_DOMAIN=http://127.0.0.1:5594",
		"REMOTE_SCHEMAS_WEBHOOK_DOMAIN=http://127.0.0.1:5000",
	}
}

// A setting is one the index asks for: "only with enabled-apis=graphql".
type setting struct{ name, value string }

var settingNote = regexp.MustCompile(`only with ([a-z-]+)(?:=(\S+))?`)

func settings(note string) []setting {
	found := settingNote.FindStringSubmatch(note)
	if found == nil {
		return nil
	}
	s := setting{name: found[1], value: found[2]}
	switch s.name {
	case "enable-allowlist":
		s.value = "true"
	case "cors-domain":
		s.value = "http://*.localhost, http://localhost:3000, https://*.foo.bar.com"
	case "auth-hook":
		s.value = "http://127.0.0.1:5592/auth"
	}
	return []setting{s}
}

// with spells the settings as variables in the mode without a secret and as
// flags in the other, so that both spellings are tried.
func (l *launch) with(m mode, settings []setting) {
	if m.secret != "" {
		l.flags = append(l.flags, "--admin-secret", m.secret)
	}
	for _, s := range settings {
		switch {
		case m.secret == "":
			variable := strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
			l.environment = append(l.environment, "SERVICE_GRAPHQL_"+variable+"="+s.value)
		case s.value == "true":
			l.flags = append(l.flags, "--"+s.name)
		default:
			l.flags = append(l.flags, "--"+s.name, s.value)
		}
	}
}

func (w *world) runCase(ctx context.Context, c indexedCase, transport string) error {
	if err := w.postScene(ctx, c.caseUp, c.note); err != nil {
		return err
	}
	if err := w.steps(ctx, c, transport); err != nil {
		return err
	}
	return w.postScene(ctx, c.caseDown, c.note)
}

// steps does what the index says, or what section 6 of the cases' own
// description says in words.
func (w *world) steps(ctx context.Context, c indexedCase, transport string) error {
	if c.kind == "yaml" {
		return w.indexedSteps(ctx, c, transport)
	}
	coded, written := codedSteps()[stepsName(c)]
	if !written {
		return fmt.Errorf("this runner has no steps for the %s case %s of %s", c.kind, c.name, c.class)
	}
	return coded(ctx, w, c)
}

func (w *world) indexedSteps(ctx context.Context, c indexedCase, transport string) error {
	for _, step := range c.steps {
		act, file, _ := strings.Cut(step, ":")
		if err := w.step(ctx, act, file, c, transport); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func (w *world) step(ctx context.Context, act, file string, c indexedCase, transport string) error {
	switch act {
	case "check":
		return w.checkFile(ctx, file, c, transport)
	case "post":
		return w.postFile(ctx, file, http.StatusOK)
	case "post400":
		return w.postFile(ctx, file, http.StatusBadRequest)
	}
	return fmt.Errorf("the index asks for %q, which means nothing", act)
}

func (w *world) checkFile(ctx context.Context, file string, c indexedCase, transport string) error {
	requests, err := readRequests(w.cases, file)
	if err != nil {
		return err
	}
	for i, r := range requests {
		if err := w.checkOver(ctx, transport, r, c.auth); err != nil {
			return fmt.Errorf("request %d: %w", i+1, err)
		}
	}
	return nil
}

// checkOver sends a request over a transport. Only GraphQL has others than HTTP.
func (w *world) checkOver(ctx context.Context, transport string, r request, auth string) error {
	if !isGraphQL(r.url) || transport == "http" {
		return w.check(ctx, r, auth)
	}
	s, err := w.socketAt(ctx, r.url)
	if err != nil {
		return err
	}
	if auth != "none" {
		r.headers = w.withSecret(r.headers)
	}
	if transport == "subscription" {
		return s.subscribe(ctx, r)
	}
	return s.query(ctx, r)
}

// postScene posts the files of a scene; all of them must be taken.
func (w *world) postScene(ctx context.Context, files []string, note string) error {
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(w.cases, file)); errors.Is(err, os.ErrNotExist) {
			continue // the scene simply has no such part
		}
		if err := w.postFile(ctx, file, http.StatusOK); err != nil {
			return w.sceneFailure(ctx, note, fmt.Errorf("scene %s: %w", file, err))
		}
	}
	return nil
}

func (w *world) postFile(ctx context.Context, file string, status int) error {
	operation, err := readScene(w.cases, file)
	if err != nil {
		return err
	}
	_, err = w.admin(ctx, operation, status)
	return err
}

// sceneFailure tells a server that failed from a PostgreSQL that lacks what
// the scene asks of it.
func (w *world) sceneFailure(ctx context.Context, note string, failure error) error {
	if !strings.Contains(note, "PostGIS") {
		return failure
	}
	const question = "select exists(select from pg_available_extensions where name = 'postgis')"
	var available bool
	err := w.onDatabase(ctx, func(c *pgx.Conn) error { return c.QueryRow(ctx, question).Scan(&available) })
	if err != nil {
		return errors.Join(failure, err)
	}
	if !available {
		return errNoPostGIS
	}
	return failure
}

// onDatabase does something behind the server's back.
func (w *world) onDatabase(ctx context.Context, act func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return fmt.Errorf("connect to the case's database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return act(conn)
}
