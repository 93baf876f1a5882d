package auth_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"annals/handlers/api/auth"
)

// following is a running chain over a file of secrets.
type following struct {
	t     *testing.T
	path  string
	chain *auth.Chain
}

func follow(t *testing.T, text string, given ...auth.Secret) following {
	t.Helper()
	f := following{t: t, path: filepath.Join(t.TempDir(), "secrets")}
	f.write(text)
	var err error
	f.chain, err = auth.New(auth.Config{Secrets: given, SecretsFile: f.path, SecretsFileInterval: time.Millisecond})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.chain.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return f
}

// write puts the text in the file's place at once, as those who rotate secrets do.
func (f following) write(text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(f.path+".new", []byte(text), 0o600))
	require.NoError(f.t, os.Rename(f.path+".new", f.path))
}

// opens returns the name of the credential that a secret is; empty when it is none.
func (f following) opens(secret string) string {
	caller, err := f.chain.Authenticate(f.t.Context(), headers("X-Service-Admin-Secret", secret))
	if err != nil {
		return ""
	}
	return caller.Credential
}

func (f following) becomes(secret, name string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.opens(secret) == name }, 10*time.Second, time.Millisecond)
}

func TestSecretsOfAFileComeAndGoWhileTheServiceRuns(t *testing.T) {
	f := follow(t, "# who has which\nalice  one\n\nbob two words\n", auth.Secret{Name: "admin-secret", Value: "given"})
	require.Equal(t, "alice", f.opens("one"))
	require.Equal(t, "bob", f.opens("two words"))
	require.Equal(t, "admin-secret", f.opens("given"))
	require.Empty(t, f.opens("other"))

	f.write("bob two words\ncarol three\n")
	f.becomes("three", "carol")
	require.Empty(t, f.opens("one"), "alice's is gone")
	require.Equal(t, "bob", f.opens("two words"))

	f.write("bob") // makes no sense
	f.write("bob two words\n\ncarol four\n")
	f.becomes("four", "carol")
	require.NoError(t, os.Remove(f.path))
	require.Equal(t, "admin-secret", f.opens("given"))
	require.Equal(t, "carol", f.opens("four"), "a file that is not there changes nothing")
}

func TestWhoShowedASecretIsToldWhenItIsRemoved(t *testing.T) {
	f := follow(t, "alice one\nbob two\ncarol three\n")
	gone := map[string]chan struct{}{}
	callers := map[string]auth.Caller{}
	for _, secret := range []string{"one", "two", "three"} {
		caller, err := f.chain.Authenticate(t.Context(), headers("X-Service-Admin-Secret", secret))
		require.NoError(t, err)
		gone[secret], callers[secret] = make(chan struct{}), caller
		caller.Revoked(func() { close(gone[secret]) })
	}
	stop := callers["one"].Revoked(func() { t.Error("it was called off") })
	require.True(t, stop())

	f.write("robert two\ncarol four\n")
	<-gone["one"]
	<-gone["three"]
	f.becomes("two", "robert")
	select {
	case <-gone["two"]:
		t.Fatal("the secret has another name, and counts still")
	default:
	}
	late := make(chan struct{})
	callers["one"].Revoked(func() { close(late) })
	<-late // also who asks too late
	f.write("")
	<-gone["two"]
}

func TestAServiceWithAnEmptyFileOfSecretsIsClosed(t *testing.T) {
	f := follow(t, "")
	_, err := f.chain.Authenticate(t.Context(), headers())
	require.Error(t, err)
	f.write("alice one")
	f.becomes("one", "alice")
}

func TestAFileOfSecretsThatMakesNoSenseStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"no secret": "alice", "a name twice": "a one\na two", "a long line": "alice a\x00b"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := auth.New(auth.Config{SecretsFile: path})
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "one", "a secret is in no message")
	}
	_, err := auth.New(auth.Config{SecretsFile: filepath.Join(dir, "missing")})
	require.Error(t, err)
}

func TestNoMoreOfAFileOfSecretsIsReadThanItMayHold(t *testing.T) {
	_, err := auth.New(auth.Config{SecretsFile: "/dev/zero"}) // it has no size, and no end
	require.ErrorContains(t, err, "longer than 1048576 bytes")
}
