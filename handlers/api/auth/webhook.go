package auth

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"annals/domain"
)

// HookMode is how the webhook is asked.
type HookMode string

// The modes.
const (
	HookGET  HookMode = http.MethodGet  // with the request's own headers
	HookPOST HookMode = http.MethodPost // with the headers in the body
)

// Limits of the webhook.
const (
	DefaultHookTimeout = 10 * time.Second
	// MaxHookAnswerBytes is how large the webhook's answer may be.
	MaxHookAnswerBytes = 1 << 20
)

// WebhookConfig names the service that tells who asks.
type WebhookConfig struct {
	URL string
	// Mode is how it is asked. Empty: [HookGET].
	Mode HookMode
	// Timeout is how long it may take to answer. 0: [DefaultHookTimeout].
	Timeout time.Duration
}

func (c WebhookConfig) validate() error {
	if err := checkURL(c.URL); err != nil {
		return fmt.Errorf("authentication webhook: %w", err)
	}
	if c.Mode != "" && c.Mode != HookGET && c.Mode != HookPOST {
		return fmt.Errorf("authentication webhook: expecting the mode GET or POST, not %q", c.Mode)
	}
	return nil
}

// WebhookCredential is the name of the credential of callers that the webhook
// let in.
const WebhookCredential = "webhook"

// userAgent is what we call ourselves in calls that leave.
const userAgent = "annals"

// HookCall is one call of the webhook, and what came of it. Its answer is not
// there: it holds a session.
type HookCall struct {
	URL    string
	Mode   HookMode
	Status int   // 0: there was no answer
	Err    error // why there was none, or why it could not be read
}

// hook lets in whom the webhook knows, with the session that it says. Nothing
// is kept from one request to the next.
type hook struct {
	url      string
	mode     HookMode
	timeout  time.Duration
	client   *http.Client
	now      func() time.Time
	asked    func(context.Context, HookCall)
	roleName string // the role variable in messages
}

func newHook(w WebhookConfig, c Config) *hook {
	return &hook{
		url: w.URL, mode: cmp.Or(w.Mode, HookGET), timeout: cmp.Or(w.Timeout, DefaultHookTimeout),
		client: c.Client, now: c.Now, asked: c.HookAsked, roleName: c.HeaderPrefix + "role",
	}
}

func (k *hook) Authenticate(ctx context.Context, h http.Header) (Caller, error) {
	status, body, err := k.ask(ctx, h)
	k.asked(ctx, HookCall{URL: k.url, Mode: k.mode, Status: status, Err: err})
	switch {
	case ctx.Err() != nil:
		return Caller{}, fmt.Errorf("ask the authentication webhook: %w", ctx.Err())
	case err != nil:
		return Caller{}, fault("webhook authentication request failed")
	case status == http.StatusUnauthorized:
		return Caller{}, &Denied{"Authentication hook unauthorized this request"}
	case status != http.StatusOK:
		return Caller{}, fault("Invalid response from authorization hook")
	}
	return k.caller(body)
}

// ask makes the call.
func (k *hook) ask(ctx context.Context, h http.Header) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	request, err := k.request(ctx, h)
	if err != nil {
		return 0, nil, cause(err)
	}
	response, err := k.client.Do(request)
	if err != nil {
		return 0, nil, cause(err)
	}
	defer response.Body.Close()
	body, err = readAtMost(response.Body, MaxHookAnswerBytes)
	return response.StatusCode, body, err
}

func (k *hook) request(ctx context.Context, h http.Header) (*http.Request, error) {
	var body io.Reader
	headers := http.Header{}
	if k.mode == HookPOST {
		body = bytes.NewReader(inBody(h))
	} else {
		headers = forwarded(h)
	}
	request, err := http.NewRequestWithContext(ctx, string(k.mode), k.url, body)
	if err != nil {
		return nil, err
	}
	headers.Set("Content-Type", "application/json")
	headers.Set("User-Agent", userAgent)
	request.Header = headers
	return request, nil
}

// notForwarded are headers that speak of the client's own request and
// connection. The last line holds those that HTTP lets nobody pass on.
var notForwarded = [...]string{
	"Content-Length", "Content-Md5", "User-Agent", "Host", "Origin", "Referer", "Accept", "Accept-Encoding",
	"Accept-Language", "Accept-Datetime", "Cache-Control", "Connection", "Dnt", "Content-Type",
	"Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func forwarded(h http.Header) http.Header {
	kept := h.Clone()
	if kept == nil {
		kept = http.Header{}
	}
	for _, name := range notForwarded {
		kept.Del(name)
	}
	return kept
}

// inBody writes all headers as the body of a POST.
func inBody(h http.Header) []byte {
	list := make(map[string]string, len(h))
	for name, values := range h {
		separator := ", "
		if name == "Cookie" {
			separator = "; "
		}
		list[name] = clean(strings.Join(values, separator))
	}
	body, err := json.Marshal(map[string]map[string]string{"headers": list}, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("encode headers: %v", err)) // maps of valid text
	}
	return body
}

// caller reads the answer to a request that is let in.
func (k *hook) caller(answer []byte) (Caller, error) {
	variables, err := sessionOf(answer)
	if err != nil {
		return Caller{}, err
	}
	role := variables[RoleVariable]
	if role == "" {
		return Caller{}, domain.RefuseAt("$", domain.InvalidParams, "%s not found in session variables", k.roleName)
	}
	caller := Caller{Session: domain.Session{Role: role, Variables: variables}, Credential: WebhookCredential}
	now := k.now()
	if d, said := lifetime(variables["cache-control"], variables["expires"], now); said {
		caller.Expires = now.Add(d)
	}
	return caller, nil
}

// sessionOf reads the session in the webhook's answer: all of the object,
// whatever the names. No error repeats what is in it.
func sessionOf(answer []byte) (map[string]string, error) {
	var members map[string]any
	if err := json.Unmarshal(answer, &members); err != nil || members == nil {
		return nil, badAnswer("expecting a JSON object without repeated names")
	}
	lower := make(map[string]string, len(members))
	for name, value := range members {
		text, ok := value.(string)
		if !ok {
			return nil, badAnswer("parsing Text failed, expected String, but encountered " + kindOf(value))
		}
		name = strings.ToLower(name)
		if other, taken := lower[name]; taken && other != text {
			return nil, badAnswer("two names differ in case only, and have different values")
		}
		lower[name] = text
	}
	return ownSpelling(lower), nil
}

// ownSpelling gives variables their canonical names. Where both spellings are
// there, ours sorts behind the other, and stays.
func ownSpelling(variables map[string]string) map[string]string {
	session := make(map[string]string, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		session[domain.SessionVariable(name)] = variables[name]
	}
	return session
}

func badAnswer(reason string) error {
	return fault("Invalid response from authorization hook: Error in $: " + reason)
}
