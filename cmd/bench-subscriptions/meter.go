package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// ticksPerSecond is the unit of /proc, on every Linux that Go runs on.
const ticksPerSecond = 100

// meter reads what the node and the database have used so far.
type meter struct {
	db   *pgx.Conn
	node int // its process
}

// usage is what was used until a moment.
type usage struct {
	at             time.Time
	nodeCPU, dbCPU time.Duration
	transactions   int64
	resident       int64
}

func (m meter) read(ctx context.Context) (u usage, err error) {
	u.at = time.Now()
	if u.nodeCPU, err = cpuOf(m.node); err != nil {
		return u, err
	}
	if u.resident, err = residentOf(m.node); err != nil {
		return u, err
	}
	if err := m.db.QueryRow(ctx, "SELECT pg_stat_clear_snapshot()::text IS NULL OR true, xact_commit FROM pg_stat_database WHERE datname = current_database()").
		Scan(nil, &u.transactions); err != nil {
		return u, fmt.Errorf("read the database's counters: %w", err)
	}
	rows, _ := m.db.Query(ctx, "SELECT pid FROM pg_stat_activity") // CollectRows has the error
	backends, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return u, fmt.Errorf("list the database's processes: %w", err)
	}
	for _, pid := range backends {
		cpu, err := cpuOf(pid)
		if os.IsNotExist(err) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return u, err
		}
		u.dbCPU += cpu
	}
	return u, nil
}

// since describes what was used after another moment.
func (u usage) since(from usage) string {
	elapsed := u.at.Sub(from.at)
	share := func(to, from time.Duration) float64 { return 100 * float64(to-from) / float64(elapsed) }
	return fmt.Sprintf("%.0f statements/s, CPU of PostgreSQL %.0f%%, of the node %.0f%%",
		float64(u.transactions-from.transactions)/elapsed.Seconds(), share(u.dbCPU, from.dbCPU), share(u.nodeCPU, from.nodeCPU))
}

// cpuOf is the time that a process has had.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// residentOf is how many bytes of memory a process has.
func residentOf(pid int) (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(statm)[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
