package dump

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// DefaultTimeout is how long a dump may take where nothing else is said.
const DefaultTimeout = 10 * time.Minute

// complaintKept is how much of what pg_dump complains about is told.
const complaintKept = 4 << 10

// Dumper dumps one database. It is safe for concurrent use.
type Dumper struct {
	// Program finds pg_dump; it is asked before each dump.
	Program func(context.Context) (string, error)
	// Database is the database's URL, or its keywords and values.
	Database string
	// Timeout is how long a dump may take. 0: [DefaultTimeout].
	Timeout time.Duration
}

// Dump returns the SQL text that pg_dump writes with these options; clean
// leaves out what withoutNoise does. The text lies in a file that has no name, so it
// is whole when the first of it is read. The error is [*OptionError] for an
// option that is not passed on.
func (d Dumper) Dump(ctx context.Context, options []string, clean bool) (io.ReadCloser, error) {
	if err := check(options); err != nil {
		return nil, err
	}
	text, err := os.CreateTemp("", "annals-dump-*.sql")
	if err != nil {
		return nil, fmt.Errorf("open a file for the dump: %w", err)
	}
	err = errors.Join(os.Remove(text.Name()), d.run(ctx, options, text))
	if err == nil {
		_, err = text.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, text.Close())
	}
	if !clean {
		return text, nil
	}
	return cleaned{withoutNoise(text), text}, nil
}

// cleaned reads the clean text, and closes the file under it.
type cleaned struct {
	io.Reader
	io.Closer
}

func (d Dumper) run(ctx context.Context, options []string, to *os.File) error {
	program, err := d.Program(ctx)
	if err != nil {
		return err
	}
	environment, err := connection(d.Database)
	if err != nil {
		return err
	}
	timeout := d.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, program, append([]string{"--no-password"}, options...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(environment, "LC_ALL=C"), to, &complaint
	err = cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("it did not end within %s", timeout)
	case err != nil:
		said := complaint.Bytes()
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(said[:min(len(said), complaintKept)]))
	}
	return nil
}

// passed are the settings of a connection that go to pg_dump as they are, by the
// names that a URL or a list of keywords has for them. One that is not among these
// counts as the service's own environment has it, for pg_dump as for the service.
var passed = map[string]string{
	"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "sslsni": "PGSSLSNI",
	"target_session_attrs": "PGTARGETSESSIONATTRS", "krbsrvname": "PGKRBSRVNAME",
}

var keyword = regexp.MustCompile(`(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)`)

// connection is the environment in which pg_dump finds a database.
func connection(database string) ([]string, error) {
	c, err := pgconn.ParseConfig(database)
	if err != nil {
		return nil, fmt.Errorf("read the database's URL: %w", err)
	}
	environment := []string{
		"PGHOST=" + c.Host, "PGPORT=" + strconv.Itoa(int(c.Port)), "PGUSER=" + c.User, "PGPASSWORD=" + c.Password,
		"PGDATABASE=" + c.Database, "PGAPPNAME=annals pg_dump",
	}
	given := settings(database)
	for name, variable := range passed {
		if value := cmp.Or(given[name], os.Getenv(variable)); value != "" {
			environment = append(environment, variable+"="+value)
		}
	}
	return environment, nil
}

// settings are those that a URL has behind its ?, or a list of keywords.
func settings(database string) map[string]string {
	found := make(map[string]string)
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") {
		if u, err := url.Parse(database); err == nil {
			for name, values := range u.Query() {
				found[name] = values[0]
			}
		}
		return found
	}
	for _, m := range keyword.FindAllStringSubmatch(database, -1) {
		found[m[1]] = strings.Trim(m[2], "'")
	}
	return found
}
