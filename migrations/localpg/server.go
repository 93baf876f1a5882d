package localpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// stopLimit is how long a server may take to end in good order (SIGINT).
	stopLimit = 30 * time.Second
	// quitLimit is how long it may then take to end at all (SIGQUIT).
	quitLimit = 10 * time.Second
)

// A Config says what to start. Only DataDir must be set.
type Config struct {
	// DataDir is the data folder; it is made if missing.
	DataDir string
	// BinDir is the folder of initdb and postgres. Empty: they are looked for.
	BinDir string
	// ExtraBinDirs are looked at when nothing else was found.
	ExtraBinDirs []string
	// Fast does not wait for the disk: for tests. What was committed survives a
	// kill of the server, but not a crash of the machine.
	Fast bool
	// Seed is a folder for initialised clusters: a new data folder is copied
	// from it, a fraction of initdb's time. Copies share PostgreSQL's system
	// identifier, so this too is for tests. Empty: initdb.
	Seed string
	// Settings are PostgreSQL's, such as max_connections. A server that is
	// attached to keeps those it was started with.
	Settings map[string]string
	// Log is told about starts and stops. Nil: nobody is.
	Log *slog.Logger
}

// A Server is the use of a running PostgreSQL.
type Server struct {
	folder  folder
	socket  string
	started bool
	log     *slog.Logger
	users   *fileLock
	stop    sync.Once
	stopErr error
}

// Start attaches to the folder's server, starting it first if none runs. It
// returns when the server answers. The caller owes a Stop.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	var s *Server
	err := alone(ctx, cfg, func(f folder, cfg Config) (err error) {
		s = &Server{folder: f, log: cfg.Log}
		if err := s.raise(ctx, cfg); err != nil {
			return err
		}
		s.users, err = f.join()
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Prepare makes the folder's cluster if there is none, and starts nothing.
func Prepare(ctx context.Context, cfg Config) error {
	return alone(ctx, cfg, func(f folder, cfg Config) error {
		_, _, err := f.prepare(ctx, cfg)
		return err
	})
}

// Discard stops the folder's server, whoever uses it, and removes the folder.
func Discard(ctx context.Context, dataDir string) error {
	return alone(ctx, Config{DataDir: dataDir}, func(f folder, _ Config) error {
		if err := f.halt(ctx); err != nil {
			return err
		}
		return os.RemoveAll(string(f))
	})
}

// alone works on a data folder under its start lock.
func alone(ctx context.Context, cfg Config, work func(folder, Config) error) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	f, err := openFolder(cfg.DataDir)
	if err != nil {
		return err
	}
	cfg.DataDir = string(f)
	lock, err := f.lockStart(ctx)
	if err != nil {
		return err
	}
	defer lock.release()
	return work(f, cfg)
}

// raise leaves the server running, by attaching or by starting.
func (s *Server) raise(ctx context.Context, cfg Config) error {
	socket, err := s.folder.attach(ctx)
	if err != nil {
		return fmt.Errorf("attach to the PostgreSQL in %s: %w", s.folder, err)
	}
	if socket != "" {
		s.log.DebugContext(ctx, "attached to PostgreSQL", "folder", s.folder)
		s.socket = socket
		return nil
	}
	if s.socket, err = s.folder.launch(ctx, cfg); err != nil {
		return fmt.Errorf("start a PostgreSQL in %s: %w", s.folder, err)
	}
	s.started = true
	return nil
}

// attach returns the socket folder of the server that runs, once it answers,
// or "" if none does.
func (f folder) attach(ctx context.Context) (socket string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("PostgreSQL did not answer within %s", startLimit))
	defer cancel()
	err = poll(ctx, func() (done bool, err error) {
		p, err := f.postmaster()
		if err != nil {
			return false, err
		}
		state, err := probe(ctx, p.socket)
		if state == ready {
			socket = p.socket
		}
		gone := state == silent && !f.serves(p.pid)
		return state == ready || gone, err
	})
	return socket, err
}

// launch starts the server, with all that has to be there before.
func (f folder) launch(ctx context.Context, cfg Config) (socket string, err error) {
	programs, user, err := f.prepare(ctx, cfg)
	if err != nil {
		return "", err
	}
	socket = f.socketFolder(user.uid)
	if err := user.private(socket); err != nil {
		return "", fmt.Errorf("make the socket's folder: %w", err)
	}
	cfg.Log.InfoContext(ctx, "starting PostgreSQL", "folder", f, "version", programs.Version, "programs", programs.BinDir, "user", user.name)
	return socket, launch{f, programs, user, socket, settings(cfg)}.run(ctx)
}

// prepare settles with which programs and as whom the server runs, and makes
// the cluster if there is none. It needs the start lock.
func (f folder) prepare(ctx context.Context, cfg Config) (Programs, account, error) {
	programs, err := FindPrograms(ctx, cfg)
	if err != nil {
		return Programs{}, account{}, err
	}
	user, err := f.serverAccount()
	if err != nil {
		return Programs{}, account{}, err
	}
	if err := user.reaches(string(f)); err != nil {
		return Programs{}, account{}, fmt.Errorf("PostgreSQL refuses to run as root, and as another user it cannot get at its data: %w; "+
			"open that folder (chmod o+x) or name a data folder elsewhere", err)
	}
	if programs, err = f.runnable(ctx, programs, user, cfg.Log); err != nil {
		return Programs{}, account{}, err
	}
	m := maker{folder: f, programs: programs, account: user, seed: cfg.Seed, sync: !cfg.Fast, log: cfg.Log}
	return programs, user, m.ensure(ctx)
}

// URL is the address of a database for the superuser.
func (s *Server) URL(database string) string { return address(s.socket, database) }

// Started reports whether this Server started PostgreSQL rather than attached to it.
func (s *Server) Started() bool { return s.started }

// Stop gives the server back; if nobody else uses it, it is stopped. If ctx
// ends before the server has, it goes on stopping by itself.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.stopErr = s.leave(ctx) })
	return s.stopErr
}

func (s *Server) leave(ctx context.Context) error {
	lock, err := s.folder.lockStart(ctx)
	if err != nil {
		return errors.Join(err, s.users.release())
	}
	defer lock.release()
	if err := s.users.release(); err != nil {
		return fmt.Errorf("leave the PostgreSQL in %s: %w", s.folder, err)
	}
	if last, err := s.folder.unused(); !last || err != nil {
		return err
	}
	s.log.InfoContext(ctx, "stopping PostgreSQL", "folder", s.folder)
	return s.folder.halt(ctx)
}

// halt stops the folder's server. It needs the start lock.
func (f folder) halt(ctx context.Context) error {
	p, err := f.postmaster()
	if err != nil || !f.serves(p.pid) {
		return err
	}
	if err := f.terminate(ctx, p.pid, stopLimit, quitLimit); err != nil {
		return fmt.Errorf("stop the PostgreSQL in %s: %w", f, err)
	}
	if short := f.socketFolder(ownerOf(f.cluster())); short != f.path("socket") {
		_ = syscall.Rmdir(short) // it stays if something else is in it
	}
	return nil
}

var errStillRunning = errors.New("PostgreSQL is still running")

// terminate asks for an end in good order, and then for an end.
func (f folder) terminate(ctx context.Context, pid int, order, quit time.Duration) error {
	err := f.signal(ctx, pid, syscall.SIGINT, order)
	if errors.Is(err, errStillRunning) {
		err = f.signal(ctx, pid, syscall.SIGQUIT, quit)
	}
	return err
}

func (f folder) signal(ctx context.Context, pid int, signal syscall.Signal, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w %s after %s", errStillRunning, limit, signal))
	defer cancel()
	if err := send(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return poll(ctx, func() (bool, error) {
		reap(pid)
		return !f.serves(pid), nil
	})
}
