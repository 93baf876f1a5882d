package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	port       = "5432" // only part of the socket's name
	socketName = ".s.PGSQL." + port

	// startLimit bounds a start, in which a crashed server may have to recover.
	startLimit = 3 * time.Minute
	// retryInterval lies between two tries at starting.
	retryInterval = 100 * time.Millisecond
	// answerLimit bounds one try at reaching the server.
	answerLimit = 5 * time.Second
	// logTail is how much of the server's log goes into an error.
	logTail = 4 << 10
	// logLimit is the size at which the log is put aside as postgres.log.1, at a start.
	logLimit = 16 << 20
)

// errPredecessor says that processes of a killed server have not all ended.
var errPredecessor = errors.New("a session of the server that was killed is still running")

// A launch is one try at starting a server.
type launch struct {
	folder   folder
	programs Programs
	account  account
	socket   string
	settings []string
}

// run starts the server and returns when it answers. After a kill of the
// server its backends need a moment to notice; until then a new one is refused.
func (l launch) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("PostgreSQL did not answer within %s", startLimit))
	defer cancel()
	var refused error
	err := pollEvery(ctx, retryInterval, func() (bool, error) {
		err := l.once(ctx)
		if errors.Is(err, errPredecessor) {
			refused = err
			return false, nil
		}
		refused = nil
		return err == nil, err
	})
	return errors.Join(err, refused)
}

func (l launch) once(ctx context.Context) error {
	if err := l.folder.removeStale(l.socket); err != nil {
		return err
	}
	log, begin, err := l.folder.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	pid, err := l.spawn(log)
	if err != nil {
		return fmt.Errorf("start %s as user %s: %w", l.programs.postgres(), l.account.name, err)
	}
	if err := l.await(ctx, pid); err != nil {
		return explain(err, log.Name(), tail(log.Name(), begin))
	}
	return nil
}

// await returns when the server answers. If it does not, it is no more; and a
// process that was reaped is not signalled, since its number may be another's.
func (l launch) await(ctx context.Context, pid int) error {
	ended := false
	err := poll(ctx, func() (bool, error) {
		var status syscall.WaitStatus
		if ended, status = reap(pid); ended {
			return false, fmt.Errorf("PostgreSQL ended while starting (%s)", describe(status))
		}
		state, err := probe(ctx, l.socket)
		return state == ready, err
	})
	if err != nil && !ended {
		end(pid)
	}
	return err
}

// spawn starts the server in a session of its own, or a Ctrl-C meant for this
// program would reach it first.
func (l launch) spawn(log *os.File) (pid int, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	keepFromChildren()
	attributes := l.account.attributes()
	attributes.Setsid = true
	process, err := os.StartProcess(l.programs.postgres(), l.arguments(), &os.ProcAttr{
		Dir: l.folder.cluster(), Env: environment(), Files: []*os.File{null, log, log}, Sys: attributes,
	})
	if err != nil {
		return 0, err
	}
	pid = process.Pid // Release forgets it
	// It is watched by its number: whoever stops it may be another process.
	return pid, process.Release()
}

// keepFromChildren has no child get the files that this program was started
// with beside the standard ones, such as a lock or a pipe of the shell's: the
// server outlives the program, and would hold them. Files that Go opens itself
// are kept from children anyway.
func keepFromChildren() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // then they cannot be told
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// arguments end with what no setting may change: the way in.
func (l launch) arguments() []string {
	args := []string{l.programs.postgres(), "-D", l.folder.cluster()}
	for _, setting := range l.settings {
		args = append(args, "-c", setting)
	}
	return append(args, "-c", "listen_addresses=", "-c", "unix_socket_permissions=0700", "-k", l.socket, "-p", port)
}

// settings are the command line's settings in a fixed order.
func settings(cfg Config) []string {
	all := map[string]string{}
	if cfg.Fast {
		all = map[string]string{"fsync": "off", "full_page_writes": "off"}
	}
	maps.Copy(all, cfg.Settings)
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// end takes a child that did not come up down again.
func end(pid int) {
	if err := send(pid, syscall.SIGQUIT); err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), quitLimit)
	defer cancel()
	_ = poll(ctx, func() (bool, error) {
		ended, _ := reap(pid)
		return ended, nil
	})
}

// openLog opens the server's log at its end.
func (f folder) openLog() (log *os.File, size int64, err error) {
	if info, err := os.Lstat(f.log()); err == nil && info.Size() > logLimit {
		if err := os.Rename(f.log(), f.log()+".1"); err != nil {
			return nil, 0, fmt.Errorf("put the server's log aside: %w", err)
		}
	}
	log, err = os.OpenFile(f.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open the server's log: %w", err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, 0, fmt.Errorf("open the server's log: %w", err)
	}
	return log, info.Size(), f.own(log)
}

// tail is the end of what was written to the log after begin.
func tail(path string, begin int64) string {
	log, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer log.Close()
	text, err := io.ReadAll(io.NewSectionReader(log, begin, 1<<20))
	if err != nil {
		return err.Error()
	}
	if len(text) > logTail {
		text = text[len(text)-logTail:]
	}
	return strings.TrimSpace(string(text))
}

func explain(err error, path, text string) error {
	if strings.Contains(text, "is still in use") {
		return fmt.Errorf("%w; the server's log is %s", errPredecessor, path)
	}
	return fmt.Errorf("%w; its log %s ends:\n%s", err, path, text)
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// state is how a server answers.
type state int

const (
	silent   state = iota // nobody listens
	starting              // somebody does, and takes no sessions yet or any more
	ready
)

// probe asks the socket. A server reached by it is there even if its process
// cannot be seen, as from another container on the same folder.
func probe(ctx context.Context, socket string) (state, error) {
	if socket == "" {
		return silent, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	conn, err := pgconn.Connect(ctx, address(socket, "postgres"))
	var refusal *pgconn.PgError
	switch {
	case err == nil:
		return ready, conn.Close(ctx)
	case ctx.Err() != nil:
		return starting, nil // too busy to answer is not gone
	case !errors.As(err, &refusal):
		return silent, nil
	case refusal.Code == "57P03": // cannot_connect_now
		return starting, nil
	case refusal.Code == "53300": // too_many_connections
		return ready, nil
	default:
		return starting, fmt.Errorf("connect to the server: %w", err)
	}
}

// address is a database's URL. Everything is spelled out, so that no PGPORT or
// PGUSER of the environment gets a say.
func address(socket, database string) string {
	query := url.Values{"host": {socket}, "port": {port}, "sslmode": {"disable"}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}
