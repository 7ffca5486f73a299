package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	folderPattern = "fleet-testenv-*"
	ownerLock     = "owner.lock"
	reaperName    = "testenv-reaper"
	// unclaimed is how long a new folder may exist before its owner holds the lock.
	unclaimed = time.Minute
)

// reaperScript waits for the end of the process that has the other end of its standard input. Its
// last step kills its own process group, and so itself. Before that it kills the processes of real
// nodes, which are in groups of their own, and removes their control groups.
const reaperScript = `cat >/dev/null
groups=$(cat "$1"/*/node/groups 2>/dev/null)
rm -rf -- "$1"
for group in $groups; do
  tries=0
  while [ -d "$group" ] && [ $tries -lt 200 ]; do
    kill -KILL $(find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null) 2>/dev/null
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
    tries=$((tries + 1)); sleep 0.05
  done
done
kill -KILL 0`

// A reaper leads the process group of an environment. It cleans up if this process does not.
type reaper struct {
	group int
	// exited is closed when the reaper has ended.
	exited chan struct{}
}

// startReaper starts the reaper. Until it has ended, owner is not garbage collected with its locks
// and reserved ports: the clusters continue to run after a caller has dropped the environment.
func startReaper(ctx context.Context, dir string, owner *localEnv) (*reaper, error) {
	command := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", reaperScript, reaperName, dir)
	command.Dir = "/"
	command.SysProcAttr = leadGroup()
	if _, err := command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("making a pipe to the reaper: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the reaper: %w", err)
	}
	r := &reaper{group: command.Process.Pid, exited: make(chan struct{})}
	go func() {
		_ = command.Wait() // The reaper is always killed, so the error has no information.
		close(r.exited)
		runtime.KeepAlive(owner)
	}()
	return r, nil
}

// killAll ends the reaper and every process of the environment.
func (r *reaper) killAll() error {
	if err := killGroup(r.group); err != nil {
		return err
	}
	<-r.exited
	return nil
}

// sweep removes the environments in parent whose owner and reaper were both killed.
func sweep(ctx context.Context, parent string, olderThan time.Duration, log Log) error {
	locks, err := filepath.Glob(filepath.Join(parent, folderPattern, ownerLock))
	if err != nil {
		return fmt.Errorf("looking for abandoned environments: %w", err)
	}
	var failures []error
	for _, path := range locks {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < olderThan {
			continue // It was removed in the meantime, or is too young to decide.
		}
		lock, err := tryLock(path)
		if err != nil || lock == nil {
			continue // It belongs to another user, or its owner runs.
		}
		dir := filepath.Dir(path)
		log("removing the abandoned environment %s", dir)
		failures = append(failures, removeAbandoned(ctx, dir))
		lock.release()
	}
	return errors.Join(failures...)
}

func removeAbandoned(ctx context.Context, dir string) error {
	processes, err := processesOf(ctx, dir)
	if err != nil {
		return err
	}
	for _, process := range processes {
		if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("killing process %d of the abandoned environment %s: %w", process.Pid, dir, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the abandoned environment: %w", err)
	}
	return nil
}

// processesOf finds the processes of the environment in dir by their arguments. Process IDs in a
// file could by now belong to other processes.
func processesOf(ctx context.Context, dir string) ([]*os.Process, error) {
	output, err := exec.CommandContext(ctx, "ps", "-A", "-ww", "-o", "pid=,args=").Output()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", commandError(err))
	}
	var found []*os.Process
	for line := range strings.Lines(string(output)) {
		number, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(number)
		if err != nil || !belongsTo(dir, args) {
			continue
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			continue // It ended in the meantime.
		}
		found = append(found, process)
	}
	return found, nil
}

// belongsTo reports whether args are those of a program of the environment in dir. Other programs
// may use the folder too, such as a pager that shows a log.
func belongsTo(dir, args string) bool {
	if strings.HasSuffix(args, reaperName+" "+dir) {
		return true
	}
	program, _, _ := strings.Cut(args, " ")
	ours := slices.Concat(programs(), fleetPrograms())
	return slices.Contains(ours, filepath.Base(program)) && strings.Contains(args, dir+string(filepath.Separator))
}
