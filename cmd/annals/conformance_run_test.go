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

// A classRun takes the cases of one class through one mode after the other.
type classRun struct {
	t        *testing.T
	suite    *suite
	cases    []indexedCase
	helpers  []string // what any of the cases needs
	verdicts map[string]*verdict
}

// A verdict is what became of one case over one transport in the modes so far.
type verdict struct {
	feature string
	wanted  int // in how many modes it is run
	passed  int
	outcome outcome
}

// A modeRun is one mode of a class: its world, made when first needed and
// again after a case failed, so that no failure spoils what follows.
type modeRun struct {
	*classRun
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
	r := &classRun{t: t, suite: s, cases: cases, verdicts: map[string]*verdict{}}
	for _, c := range cases {
		r.helpers = append(r.helpers, c.helpers...)
	}
	slices.Sort(r.helpers)
	r.helpers = slices.Compact(r.helpers)
	return r
}

func (r *classRun) run() {
	if len(r.helpers) > 0 {
		r.suite.ports.Lock()
		defer r.suite.ports.Unlock()
	}
	for _, m := range r.modes() {
		r.t.Run(m.name, func(t *testing.T) { (&modeRun{classRun: r, mode: m}).run(t) })
	}
	for line, v := range r.verdicts {
		r.suite.tally.count(v.feature, v.outcome)
		if v.passed == v.wanted {
			assert.NoError(r.t, r.suite.known.settle(line, nil))
		}
	}
}

// modes are those that any of the cases is run in.
func (r *classRun) modes() []mode {
	var all []mode
	for _, c := range r.cases {
		for _, m := range modesOf(c) {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

func (m *modeRun) run(t *testing.T) {
	for _, c := range m.cases {
		if !slices.Contains(modesOf(c), m.mode) {
			continue
		}
		for _, transport := range c.transports {
			if m.decided(caseLine(c, transport)) {
				continue
			}
			t.Run(fmt.Sprintf("%s[%s]", c.name, transport), func(t *testing.T) { m.runCase(t, c, transport) })
		}
	}
	assert.NoError(t, m.close(t.Context()), "after the last case")
}

// decided reports whether an earlier mode has shown that a known failure still
// is one; running it again would show nothing new.
func (r *classRun) decided(line string) bool {
	v := r.verdicts[line]
	_, known := r.suite.known[line]
	return known && v != nil && v.outcome != passed
}

// runCase holds the outcome of one case against the known failures.
func (m *modeRun) runCase(t *testing.T, c indexedCase, transport string) {
	failure := m.attempt(t.Context(), c, transport)
	line := caseLine(c, transport)
	m.note(line, c, failure)
	if errors.Is(failure, errNoPostGIS) {
		t.Skip(failure)
	}
	if failure == nil {
		return
	}
	if _, groundless := m.suite.known[featureLine(c.feature)]; groundless {
		t.Logf("known (%s): %v", featureLine(c.feature), failure)
		return
	}
	if complaint := m.suite.known.settle(line, failure); complaint != nil {
		t.Error(complaint)
		return
	}
	t.Logf("known: %v", failure)
}

// note adds one mode's outcome to the case's verdict: one failure is a failure.
func (r *classRun) note(line string, c indexedCase, failure error) {
	v := r.verdicts[line]
	if v == nil {
		v = &verdict{feature: c.feature, wanted: len(modesOf(c)), outcome: passed}
		r.verdicts[line] = v
	}
	switch {
	case failure == nil:
		v.passed++
	case errors.Is(failure, errNoPostGIS):
		v.outcome = notPossible
	default:
		v.outcome = failed
	}
}

func (m *modeRun) attempt(ctx context.Context, c indexedCase, transport string) error {
	if m.broken == nil && m.world == nil {
		m.world, m.broken = m.open(ctx, c)
	}
	if m.broken != nil {
		return m.broken
	}
	err := m.world.runCase(ctx, c, transport)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w\nthe server's output ends:\n%s", err, m.world.server.output)
	return errors.Join(err, m.discard())
}

// open makes the world of a class, its scene posted.
func (m *modeRun) open(ctx context.Context, c indexedCase) (*world, error) {
	w := &world{cases: m.suite.cases, database: pgtest.Empty(m.t), websocket: map[string]*socket{}}
	how := launch{program: m.suite.program, database: w.database, environment: environment()}
	gate, err := openGate(m.mode.gate, c)
	if err != nil {
		return nil, err
	}
	if gate != nil {
		m.t.Cleanup(gate.close)
	}
	how.with(m.mode, slices.Concat(settings(c.note), settingsOf(gate)))
	if w.webhooks, err = openWebhooks(ctx, m.helpers); err != nil {
		return nil, err
	}
	if w.server, err = how.start(ctx); err != nil {
		return nil, errors.Join(err, w.webhooks.close())
	}
	w.client = newClient(w.server.url, m.mode)
	w.client.gate = gate
	if slices.Contains(m.helpers, actionsWebhook) {
		if w.webhooks[actionsWebhook], err = openActionHook(ctx, w.client); err != nil {
			delete(w.webhooks, actionsWebhook)
			return nil, errors.Join(err, w.stop())
		}
	}
	if err := w.prepare(ctx, c); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

// prepare posts what stands before a class. Where the metadata API is off
// there is nobody to post it to, and no case that would need it.
func (w *world) prepare(ctx context.Context, c indexedCase) error {
	if strings.HasSuffix(c.note, "enabled-apis=graphql") {
		return nil
	}
	const emptySchema = "drop schema if exists hge_tests cascade; create schema hge_tests;"
	if _, err := w.runSQL(ctx, emptySchema); err != nil {
		return fmt.Errorf("create schema hge_tests: %w", err)
	}
	return w.postScene(ctx, c.classUp, c)
}

// close takes an undisturbed class down as its index line says.
func (m *modeRun) close(ctx context.Context) error {
	if m.world == nil {
		return nil
	}
	last := m.cases[len(m.cases)-1]
	err := m.world.postScene(ctx, last.classDown, last)
	return errors.Join(err, m.discard())
}

func (m *modeRun) discard() error {
	w := m.world
	m.world = nil
	return w.stop()
}

// stop ends the server, and asks whether its history holds. It leaves no
// connection open that the server would wait for.
func (w *world) stop() error {
	w.http.CloseIdleConnections()
	for _, s := range w.websocket {
		s.close()
	}
	return errors.Join(w.server.stop(), w.webhooks.close(), checkHistory(w.database))
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
	if strings.Contains(note, "standard output") {
		return []setting{{"enabled-log-types", "startup,http-log,webhook-log,websocket-log,query-log"}}
	}
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
		return nil // the gate of its mode says which
	}
	return []setting{s}
}

// with spells the settings as variables in one mode and as flags in another,
// so that both spellings are tried.
func (l *launch) with(m mode, settings []setting) {
	if m.secret != "" {
		settings = append([]setting{{"admin-secret", m.secret}}, settings...)
	}
	for _, s := range settings {
		switch {
		case !m.flags:
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
	if err := w.postScene(ctx, c.caseUp, c); err != nil {
		return err
	}
	up, down := remoteScene(c)
	if err := w.postAll(ctx, up); err != nil {
		return err
	}
	if err := w.steps(ctx, c, transport); err != nil {
		return err
	}
	if err := w.postAll(ctx, down); err != nil {
		return err
	}
	return w.postScene(ctx, c.caseDown, c)
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
	if r.headers, err = w.asCaller(r.headers, auth); err != nil {
		return err
	}
	if transport == "subscription" {
		return s.subscribe(ctx, r)
	}
	return s.query(ctx, r)
}

// postScene posts the files of a scene; all of them must be taken.
func (w *world) postScene(ctx context.Context, files []string, c indexedCase) error {
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(w.cases, file)); errors.Is(err, os.ErrNotExist) {
			continue // the scene simply has no such part
		}
		if err := w.postFile(ctx, file, http.StatusOK); err != nil {
			return w.sceneFailure(ctx, c, fmt.Errorf("scene %s: %w", file, err))
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
func (w *world) sceneFailure(ctx context.Context, c indexedCase, failure error) error {
	if c.feature != "postgis" && !strings.Contains(c.note, "PostGIS") {
		return failure
	}
	const question = "select count(*) = 2 from pg_available_extensions where name in ('postgis', 'postgis_raster')"
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
