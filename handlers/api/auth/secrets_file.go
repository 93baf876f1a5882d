package auth

import (
	"context"
	"crypto/sha512"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"
)

// SecretsFileInterval is how often a file of secrets is looked at, where
// nothing else is said.
const SecretsFileInterval = 2 * time.Second

// MaxSecretsFileBytes is how long a file of secrets may be.
const MaxSecretsFileBytes = 1 << 20

// secretsFile follows a file of admin secrets. A secret counts from the look
// that finds it in the file to the look that does not. A file that cannot be
// read, or makes no sense, changes nothing: those who were let in before are.
type secretsFile struct {
	path     string
	interval time.Duration
	log      *slog.Logger
	given    []hashedSecret // by the settings, in front of those of the file
	secrets  *secrets
	last     [sha512.Size256]byte // of the text; zero: nothing was read yet
	failed   bool
}

// ParseSecrets reads a file of secrets: on each line a name, a space, and the
// secret. Empty lines, and lines that begin with #, say nothing.
func ParseSecrets(text string) ([]Secret, error) {
	var list []Secret
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("line %d: expecting a name, a space, and a secret", number) // never the line itself
		}
		if slices.ContainsFunc(list, func(s Secret) bool { return s.Name == name }) {
			return nil, fmt.Errorf("line %d: the name %q is given twice", number, name)
		}
		list = append(list, Secret{name, strings.TrimSpace(value)})
	}
	return list, nil
}

// look reads the file, and has its secrets count where it changed.
func (f *secretsFile) look() error {
	text, err := f.read()
	if err != nil {
		return fmt.Errorf("read the admin secrets: %w", err)
	}
	digest := sha512.Sum512_256(text)
	if digest == f.last {
		return nil
	}
	list, err := ParseSecrets(string(text))
	if err != nil {
		return fmt.Errorf("read the admin secrets: %s: %w", f.path, err)
	}
	known, err := hashed(list)
	if err != nil {
		return fmt.Errorf("read the admin secrets: %s: %w", f.path, err)
	}
	f.secrets.become(slices.Concat(f.given, known))
	f.last = digest
	return nil
}

// read reads no more of the file than it may hold, whatever its size was said to be.
func (f *secretsFile) read() ([]byte, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxSecretsFileBytes+1))
	if err == nil && len(text) > MaxSecretsFileBytes {
		err = fmt.Errorf("%s is longer than %d bytes", f.path, MaxSecretsFileBytes)
	}
	return text, err
}

// follow looks at the file until the context ends.
func (f *secretsFile) follow(ctx context.Context) {
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.lookAgain(ctx)
		}
	}
}

// lookAgain looks, and tells of the first failure in a row.
func (f *secretsFile) lookAgain(ctx context.Context) {
	err := f.look()
	if err != nil && !f.failed {
		f.log.ErrorContext(ctx, "the admin secrets stay as they were", "error", err.Error())
	}
	f.failed = err != nil
}
