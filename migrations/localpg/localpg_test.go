package localpg_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"annals/migrations/localpg"
	"annals/migrations/pgtest"
)

// childFolder and childPrograms name the data folder, and where to look for
// programs, to a test binary that was started as another program.
const (
	childFolder   = "LOCALPG_TEST_DATA_DIR"
	childPrograms = "LOCALPG_TEST_PROGRAMS"
)

// patience bounds every wait in these tests; none is expected to last a tenth of it.
const patience = time.Minute

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child uses the server until its input ends.
func child(dir string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server, err := localpg.Start(context.Background(), localpg.Config{
		DataDir: dir, Fast: true, Log: log, BinDir: os.Getenv(childPrograms),
	})
	if err != nil {
		return err
	}
	fmt.Println(server.Started())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return server.Stop(context.Background())
}

func TestTheLastOfTwoProcessesStopsTheServer(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	other := startProgram(t, pgtest.Config(t, dir))
	require.True(t, other.started)
	server := start(t, pgtest.Config(t, dir))
	require.False(t, server.Started(), "attached")

	other.leave(t)
	require.Equal(t, 1, query(t, server, "SELECT 1"))
	pid := postmaster(t, dir)
	require.NoError(t, server.Stop(t.Context()))
	require.False(t, alive(pid))
	require.NoError(t, server.Stop(t.Context()), "a second Stop is none")
}

func TestAServerOutlivesItsKilledProgram(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	program := startProgram(t, pgtest.Config(t, dir))
	pid := postmaster(t, dir)
	program.kill(t)

	server := start(t, pgtest.Config(t, dir))
	require.False(t, server.Started(), "attached")
	require.Equal(t, pid, postmaster(t, dir))
	require.NoError(t, server.Stop(t.Context()))
	require.False(t, alive(pid), "the next user was the last")
}

// A test that was killed once left a server behind, and the server the lock
// under which the test had been run.
func TestAServerHoldsNoFileThatItsProgramWasStartedWith(t *testing.T) { // alone: a child of another test would get the file
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	inherited, err := syscall.Dup(int(write.Fd())) // which a child gets, unlike what Go opens
	require.NoError(t, err)
	server := start(t, pgtest.Config(t, pgtest.DataDir(t)))
	require.True(t, server.Started())
	require.NoError(t, write.Close())
	require.NoError(t, syscall.Close(inherited))

	require.NoError(t, read.SetReadDeadline(time.Now().Add(patience)))
	_, err = read.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "somebody else has the other end")
}

func TestAKilledServerRecoversWithItsData(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	first := start(t, pgtest.Config(t, dir))
	execute(t, first, "CREATE TABLE kept AS SELECT 7 AS n")
	// A session that computes does not notice at once that its server is gone.
	busy := connect(t, first)
	_, err := busy.PgConn().Conn().Write(simpleQuery("SELECT count(*) FROM generate_series(1, 5000000)"))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(postmaster(t, dir), syscall.SIGKILL))

	second := start(t, pgtest.Config(t, dir))
	require.True(t, second.Started())
	require.Equal(t, 7, query(t, second, "SELECT n FROM kept"))
	require.Equal(t, 7, query(t, first, "SELECT n FROM kept"), "the first user's address still holds")
}

func TestLockFilesThatNameAnotherProcessAreRemoved(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*exec.Cmd){
		"a living one":            func(*exec.Cmd) {},
		"a zombie nobody reaped":  func(stranger *exec.Cmd) { stranger.Process.Kill() },
		"one that ended long ago": func(stranger *exec.Cmd) { stranger.Process.Kill(); stranger.Wait() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := pgtest.DataDir(t)
			stranger := startStranger(t, filepath.Join(dir, "cluster"))
			end(stranger)
			leaveLocks(t, dir, stranger.Process.Pid)
			server := start(t, pgtest.Config(t, dir))
			require.True(t, server.Started())
			require.Equal(t, 1, query(t, server, "SELECT 1"))
		})
	}
}

func TestThreeProcessesAtOnceMakeOneCluster(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t, filepath.Join(pgtest.DataDir(t), "new"))
	t.Cleanup(func() { discard(t, cfg.DataDir) })
	programs := make([]*program, 3)
	var all errgroup.Group
	for i := range programs {
		all.Go(func() (err error) {
			programs[i], err = runProgram(t, cfg)
			return err
		})
	}
	require.NoError(t, all.Wait())
	made, started := 0, 0
	for _, p := range programs {
		p.leave(t)
		made += strings.Count(p.log.String(), "making a PostgreSQL cluster")
		if p.started {
			started++
		}
	}
	require.Equal(t, 1, made)
	require.Equal(t, 1, started)
	require.NoFileExists(t, filepath.Join(cfg.DataDir, "cluster", "postmaster.pid"), "the last one stopped it")
}

func TestAClusterThatWasHalfMadeIsNotUsed(t *testing.T) {
	t.Parallel()
	base := pgtest.DataDir(t)
	dir := filepath.Join(base, "new")
	half := filepath.Join(dir, "cluster-partial-1")
	require.NoError(t, os.MkdirAll(half, 0o711))
	require.NoError(t, os.Chmod(dir, 0o711))
	require.NoError(t, os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("1"), 0o600))
	cfg := pgtest.Config(t, dir)
	cfg.Seed = filepath.Join(base, "seed")
	server := start(t, cfg)
	require.Equal(t, 1, query(t, server, "SELECT 1"))
	require.NoDirExists(t, half)

	var log bytes.Buffer
	cfg.DataDir, cfg.Log = filepath.Join(base, "seeded"), slog.New(slog.NewTextHandler(&log, nil))
	require.NoError(t, localpg.Prepare(t.Context(), cfg))
	require.FileExists(t, filepath.Join(cfg.DataDir, "cluster", "PG_VERSION"))
	require.NotContains(t, log.String(), "making a PostgreSQL cluster", "copied from the seed")
}

func TestAClusterSpeaksUTF8AndListensOnNoPort(t *testing.T) {
	t.Parallel()
	cfg := pgtest.Config(t, pgtest.DataDir(t))
	cfg.Settings = map[string]string{
		"listen_addresses": "*", // not the caller's to open
		"max_connections":  "17",
	}
	server := start(t, cfg)
	for setting, want := range map[string]string{
		"server_encoding": "UTF8", "TimeZone": "UTC", "listen_addresses": "", "max_connections": "17",
	} {
		var got string
		require.NoError(t, connect(t, server).QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	require.Equal(t, 1, query(t, server, "SELECT count(*) FROM pg_database WHERE datname = 'postgres' AND datcollate = 'C' AND datctype = 'C'"))
}

func TestAServerThatDoesNotStartSaysWhatItsLogSays(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	cfg := pgtest.Config(t, dir)
	cfg.Settings = map[string]string{"shared_buffers": "plenty"}
	_, err := localpg.Start(t.Context(), cfg)
	require.ErrorContains(t, err, `invalid value for parameter "shared_buffers"`)
	require.Equal(t, 1, query(t, start(t, pgtest.Config(t, dir)), "SELECT 1"), "the folder is none the worse")
}

func TestALongPathGetsAShortSocket(t *testing.T) {
	t.Parallel()
	base := pgtest.DataDir(t)
	dir := filepath.Join(base, strings.Repeat("a-long-name-", 12))
	require.NoError(t, os.Mkdir(dir, 0o711))
	require.NoError(t, os.Rename(filepath.Join(base, "cluster"), filepath.Join(dir, "cluster")))
	server := start(t, pgtest.Config(t, dir))
	var socket string
	require.NoError(t, connect(t, server).QueryRow(t.Context(), "SHOW unix_socket_directories").Scan(&socket))
	info, err := os.Stat(socket)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, server.Stop(t.Context()))
	require.NoDirExists(t, socket)
}

func TestAServerThatDoesNotEndInGoodOrderIsEnded(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	server := start(t, pgtest.Config(t, dir))
	execute(t, server, "CREATE TABLE kept AS SELECT 7 AS n")
	// A session that cannot hear anything keeps the others waiting.
	var session int
	require.NoError(t, connect(t, server).QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&session))
	require.Greater(t, session, 1)
	require.NoError(t, syscall.Kill(session, syscall.SIGSTOP))
	pid := postmaster(t, dir)
	require.NoError(t, localpg.Terminate(t.Context(), server, 100*time.Millisecond, patience))
	require.False(t, alive(pid))
	require.Equal(t, 7, query(t, start(t, pgtest.Config(t, dir)), "SELECT n FROM kept"))
}

func TestACancelledStartLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := pgtest.DataDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := localpg.Start(ctx, pgtest.Config(t, dir))
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, filepath.Join(dir, "cluster", "postmaster.pid"))
}

// A program is another process that uses the server.
type program struct {
	cmd     *exec.Cmd
	input   io.Closer
	log     bytes.Buffer
	started bool // it started the server and did not attach
}

func startProgram(t *testing.T, cfg localpg.Config) *program {
	t.Helper()
	p, err := runProgram(t, cfg)
	require.NoError(t, err)
	return p
}

// runProgram returns when the program has the server.
func runProgram(t *testing.T, cfg localpg.Config) (*program, error) {
	programs, err := localpg.FindPrograms(t.Context(), cfg)
	if err != nil {
		return nil, err
	}
	p := &program{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childFolder+"="+cfg.DataDir, childPrograms+"="+programs.BinDir)
	p.cmd.Stderr = &p.log
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err = errors.Join(err, p.cmd.Start()); err != nil {
		return nil, err
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the program ended (%w): %s", p.cmd.Wait(), &p.log)
	}
	p.started = line == "true\n"
	return p, nil
}

// leave lets the program end in good order.
func (p *program) leave(t *testing.T) {
	t.Helper()
	require.NoError(t, p.input.Close())
	require.NoError(t, p.cmd.Wait(), &p.log)
}

func (p *program) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	require.Error(t, p.cmd.Wait())
}

// startStranger starts a process of the user who owns cluster, since others'
// processes do not impress PostgreSQL.
func startStranger(t *testing.T, cluster string) *exec.Cmd {
	t.Helper()
	info, err := os.Stat(cluster)
	require.NoError(t, err)
	stranger := exec.Command("sleep", "600")
	stranger.Dir = "/"
	if os.Geteuid() == 0 {
		owner := info.Sys().(*syscall.Stat_t)
		stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	require.NoError(t, stranger.Start())
	t.Cleanup(func() {
		stranger.Process.Kill()
		stranger.Wait()
	})
	return stranger
}

// leaveLocks writes the lock files of a killed server as if pid had been its number.
func leaveLocks(t *testing.T, dir string, pid int) {
	t.Helper()
	cluster, socket := filepath.Join(dir, "cluster"), filepath.Join(dir, "socket")
	server := start(t, pgtest.Config(t, dir))
	lock, err := os.ReadFile(filepath.Join(cluster, "postmaster.pid"))
	require.NoError(t, err)
	require.NoError(t, server.Stop(t.Context()))
	_, rest, _ := strings.Cut(string(lock), "\n")
	text := []byte(strconv.Itoa(pid) + "\n" + rest)
	owner, err := os.Stat(cluster)
	require.NoError(t, err)
	for _, path := range []string{filepath.Join(cluster, "postmaster.pid"), filepath.Join(socket, ".s.PGSQL.5432.lock")} {
		require.NoError(t, os.WriteFile(path, text, 0o600))
		stat := owner.Sys().(*syscall.Stat_t)
		require.NoError(t, os.Chown(path, int(stat.Uid), int(stat.Gid)))
	}
}

func start(t *testing.T, cfg localpg.Config) *localpg.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server, err := localpg.Start(ctx, cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
	})
	return server
}

func discard(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, localpg.Discard(context.Background(), dir))
}

// postmaster is the server's process, as its lock file has it.
func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "cluster", "postmaster.pid"))
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(line)
	require.NoError(t, err)
	require.Greater(t, pid, 1, "a number that means one process")
	return pid
}

// alive reports whether a server's process exists and has not ended: init may
// take its time to reap one whose parent was killed.
func alive(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil
}

func connect(t *testing.T, server *localpg.Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func query(t *testing.T, server *localpg.Server, sql string) (n int) {
	t.Helper()
	require.NoError(t, connect(t, server).QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func execute(t *testing.T, server *localpg.Server, sql string) {
	t.Helper()
	_, err := connect(t, server).Exec(t.Context(), sql)
	require.NoError(t, err)
}

// simpleQuery is a query as it goes over the wire, for not waiting for its answer.
func simpleQuery(sql string) []byte {
	length := 4 + len(sql) + 1
	head := []byte{'Q', byte(length >> 24), byte(length >> 16), byte(length >> 8), byte(length)}
	return append(append(head, sql...), 0)
}
