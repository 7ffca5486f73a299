package worker_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

// The test binary is also the worker, a parent that is killed, and a worker that breaks the
// protocol.
const (
	parentArgument = "parent"
	rogueArgument  = "rogue"
	// landlockArgument starts a worker without the limit of descriptors.
	landlockArgument = "landlock"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case worker.Argument:
			worker.Serve(handlers())
		case landlockArgument:
			worker.ServeWithLandlockOnly(handlers())
		case parentArgument:
			beParent()
		case rogueArgument:
			beRogue(os.Args[2])
		}
	}
	os.Exit(m.Run())
}

type (
	requestFunc = func(string, []byte) ([]byte, error)
	reply       struct{ Text string }
)

func handlers() map[string]worker.Handler {
	return map[string]worker.Handler{
		"echo":     echo,
		"pid":      func(context.Context, []byte, requestFunc) (any, error) { return os.Getpid(), nil },
		"fail":     func(context.Context, []byte, requestFunc) (any, error) { return nil, errors.New("no such value") },
		"panic":    func(context.Context, []byte, requestFunc) (any, error) { panic("index out of range") },
		"crash":    func(context.Context, []byte, requestFunc) (any, error) { go panic("elsewhere"); select {} },
		"exit":     func(context.Context, []byte, requestFunc) (any, error) { os.Exit(3); return nil, nil },
		"recurse":  func(context.Context, []byte, requestFunc) (any, error) { return recurse(1), nil },
		"allocate": allocate,
		"loop":     func(context.Context, []byte, requestFunc) (any, error) { return loop(), nil },
		"output":   output,
		"print":    printText,
		"ask":      ask,
		"late":     late(),
		"environ":  func(context.Context, []byte, requestFunc) (any, error) { return os.Environ(), nil },
		"open":     openFile,
		"connect":  connect,
		"inodes":   inodes,
		"wait":     waitForSignal,
	}
}

func echo(_ context.Context, request []byte, _ requestFunc) (any, error) {
	var value any
	err := worker.Unmarshal(request, &value)

	return value, err
}

func recurse(depth int) int { return recurse(depth+1) + depth } //nolint:staticcheck // It has no end.

func allocate(context.Context, []byte, requestFunc) (any, error) {
	var kept [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4 << 10 {
			block[i] = 1
		}
		kept = append(kept, block)
		runtime.KeepAlive(kept)
	}
}

func loop() int {
	for count := 0; ; count++ {
		if count < 0 {
			return count
		}
	}
}

func output(_ context.Context, request []byte, _ requestFunc) (any, error) {
	var size int
	if err := worker.Unmarshal(request, &size); err != nil {
		return nil, err
	}

	return strings.Repeat("x", size), nil
}

// printText uses standard input and output as a careless library could.
func printText(_ context.Context, _ []byte, _ requestFunc) (any, error) {
	_, err := fmt.Fprintln(os.Stdout, strings.Repeat("printed ", 1000))
	n, readErr := os.Stdin.Read(make([]byte, 10))

	return []any{n, fmt.Sprint(err), fmt.Sprint(readErr)}, nil
}

type questions struct {
	Kind  string
	Count int
	Size  int
}

func ask(_ context.Context, request []byte, ask requestFunc) (any, error) {
	var q questions
	if err := worker.Unmarshal(request, &q); err != nil {
		return nil, err
	}
	var answers []string
	for i := range q.Count {
		answer, err := ask(q.Kind, append([]byte(fmt.Sprint(i)), make([]byte, q.Size)...))
		if err != nil {
			return nil, err
		}
		answers = append(answers, string(answer))
	}

	return answers, nil
}

// late returns a handler that sends a question of its first call during the next call.
func late() worker.Handler {
	var before requestFunc

	return func(_ context.Context, _ []byte, ask requestFunc) (any, error) {
		if before == nil {
			before = ask

			return "", nil
		}
		_, err := before("late", nil)

		return fmt.Sprint(err), nil
	}
}

func openFile(_ context.Context, request []byte, _ requestFunc) (any, error) {
	var path string
	if err := worker.Unmarshal(request, &path); err != nil {
		return nil, err
	}

	return onThreads(func() error {
		file, err := os.Open(path)
		if err == nil {
			_ = file.Close()
		}

		return err
	}), nil
}

type address struct{ Network, Address string }

func connect(ctx context.Context, request []byte, _ requestFunc) (any, error) {
	var to address
	if err := worker.Unmarshal(request, &to); err != nil {
		return nil, err
	}

	return onThreads(func() error {
		connection, err := (&net.Dialer{Timeout: time.Minute}).DialContext(ctx, to.Network, to.Address)
		if err == nil {
			_ = connection.Close()
		}

		return err
	}), nil
}

// onThreads runs try on many threads at once and returns the errors.
func onThreads(try func() error) []string {
	const threads = 20
	results := make([]string, threads)
	var all, done sync.WaitGroup
	all.Add(threads)
	for i := range threads {
		done.Go(func() {
			runtime.LockOSThread()
			all.Done()
			all.Wait()
			results[i] = fmt.Sprint(try())
		})
	}
	done.Wait()

	return results
}

// waitForSignal ignores all signals that can be ignored.
func waitForSignal(_ context.Context, _ []byte, ask requestFunc) (any, error) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	if _, err := ask("pid", []byte(fmt.Sprint(os.Getpid()))); err != nil {
		return nil, err
	}

	return loop(), nil
}

// beParent runs an endless call on a worker and prints the worker's pid.
func beParent() {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	pool := worker.New(worker.Options{Command: []string{path, worker.Argument}})
	err = pool.Call(context.Background(), "wait", nil, nil, func(_ context.Context, _ string, pid []byte) ([]byte, error) {
		_, err := fmt.Fprintln(os.Stdout, string(pid))

		return nil, err
	})
	panic(err)
}

// beRogue sends frames that a worker must not send.
func beRogue(how string) {
	send := func(kind byte, call, length uint32, payload string) {
		header := binary.BigEndian.AppendUint32([]byte{kind}, call)
		header = binary.BigEndian.AppendUint32(header, length)
		_, _ = os.Stdout.Write(append(header, payload...))
	}
	const ready, begun, question, result = 4, 5, 6, 7
	if how == "silent exit" {
		os.Exit(5)
	}
	send(ready, 0, 0, "")
	if how == "idle death" {
		os.Exit(6)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	switch how {
	case "death before the call":
		os.Exit(7)
	case "another call":
		send(begun, 9, 0, "")
	case "result first":
		send(result, 1, 0, "")
	}
	send(begun, 1, 0, "")
	switch how {
	case "long result":
		send(result, 1, 0xffffffff, "")
	case "long question":
		send(question, 1, 0xffffffff, "")
	case "unnamed question":
		send(question, 1, 0, "")
	case "unknown kind":
		send(77, 1, 0, "")
	case "half a frame":
		send(result, 1, 100, "half")
		os.Exit(0)
	case "not CBOR":
		send(result, 1, 1, "\xff")
	case "closed output":
		_ = os.Stdout.Close()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	select {}
}

// newPool returns a pool of this test binary's workers.
func newPool(tb testing.TB, options worker.Options) *worker.Pool {
	tb.Helper()

	if options.Command == nil {
		options.Command = command(tb, worker.Argument)
	}
	pool := worker.New(options)
	tb.Cleanup(func() {
		if err := pool.Close(); err != nil {
			tb.Errorf("closing the pool: %v", err)
		}
	})

	return pool
}

func command(tb testing.TB, arguments ...string) []string {
	tb.Helper()

	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}

	return append([]string{path}, arguments...)
}

// call returns the response to a call that must succeed.
func call[T any](tb testing.TB, pool *worker.Pool, method string, request any) T {
	tb.Helper()

	var response T
	if err := pool.Call(tb.Context(), method, request, &response, nil); err != nil {
		tb.Fatalf("calling %s: %v", method, err)
	}

	return response
}
