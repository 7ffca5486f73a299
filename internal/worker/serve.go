package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/memory"
)

// Handler runs one method. It may send questions to the parent. [Marshal] encodes the response.
type Handler func(ctx context.Context, request []byte, ask func(kind string, question []byte) ([]byte, error)) (response any, err error)

// Serve is the main function of a worker. It sets the limits of the process and runs calls
// until standard input ends. It never returns.
func Serve(handlers map[string]Handler) { serve(handlers, confine) }

func serve(handlers map[string]Handler, confine func() Confinement) {
	in, out, err := takePipes()
	if err != nil {
		log.Fatalf("taking the pipes of the parent: %v", err)
	}
	timeout, limit := limitsOf(os.Args)
	debug.SetMemoryLimit(limit / 10 * 8)
	go memory.AdjustCollector()
	debug.SetMaxStack(maxStack)
	loadLocalTime()
	applied := confine()
	go watchMemory(limit)

	s := server{handlers: handlers, out: out, answers: make(chan frame, 1), confinement: applied}
	go s.watchTime(timeout)
	os.Exit(s.run(in))
}

// limitsOf returns the limits of CPU time and memory, which the parent passes as the last arguments.
func limitsOf(arguments []string) (timeout time.Duration, memory int64) {
	number := func(fromEnd int, otherwise int64) int64 {
		if fromEnd > len(arguments) {
			return otherwise
		}
		given, err := strconv.ParseInt(arguments[len(arguments)-fromEnd], 10, 64)
		if err != nil || given <= 0 {
			return otherwise
		}

		return given
	}

	return time.Duration(number(2, int64(defaultTimeout))), number(1, defaultMemory)
}

// watchTime ends the process when the running call has used more CPU time than limit.
func (s *server) watchTime(limit time.Duration) {
	for range time.Tick(timeCheck) {
		if begun := s.begun.Load(); begun != nil && cpuTime()-*begun > limit {
			os.Exit(exitTime)
		}
	}
}

// loadLocalTime reads the local time zone, because its file cannot be opened later.
func loadLocalTime() { _, _ = time.Now().Zone() }

// server runs the calls of the parent, one at a time.
type server struct {
	handlers    map[string]Handler
	confinement Confinement
	answers     chan frame

	// begun is the CPU time of the process when the running call began, nil if none runs.
	begun atomic.Pointer[time.Duration]

	// mu prevents that frames are mixed.
	mu  sync.Mutex
	out io.Writer
}

// run returns the exit code of the process.
func (s *server) run(in io.Reader) int {
	if err := s.send(frameReady, 0); err != nil {
		return 1
	}
	limit := func(kind frameKind) int64 {
		switch kind {
		case frameCall, frameResponse, frameRefusal:
			return maxRequest + headerSize + 1<<8
		case frameReady, frameBegun, frameQuestion, frameResult, frameError:
			return -1
		default:
			return -1
		}
	}
	for reader := bufio.NewReader(in); ; {
		f, err := readFrame(reader, limit)
		switch {
		case errors.Is(err, io.EOF):
			return 0
		case err != nil:
			log.Printf("reading standard input: %v", err)

			return 1
		case f.kind == frameCall:
			// The process must notice the end of its input while a handler runs.
			go s.call(f)
		default:
			s.answers <- f
		}
	}
}

func (s *server) send(kind frameKind, call uint32, parts ...[]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return writeFrame(s.out, kind, call, parts...)
}

// call runs a handler and sends its result. It ends the process if sending fails.
func (s *server) call(f frame) {
	err := s.send(frameBegun, f.call)
	if err == nil {
		err = s.respond(f)
	}
	if err != nil {
		os.Exit(1)
	}
}

func (s *server) respond(f frame) error {
	q := &questions{server: s, call: f.call}
	now := cpuTime()
	s.begun.Store(&now)
	result, err := s.handle(f, q.ask)
	s.begun.Store(nil) // The next call can begin as soon as the result is sent.
	q.end()
	if err != nil {
		text := err.Error()

		return s.send(frameError, f.call, []byte(text[:min(len(text), maxQuestion)]))
	}

	return s.send(frameResult, f.call, result)
}

// handle returns the encoded response of the handler. A panic of the handler becomes an error.
func (s *server) handle(f frame, ask func(string, []byte) ([]byte, error)) (result []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	method, request, err := splitName(f.payload)
	if err != nil {
		return nil, err
	}
	if method == ConfinementMethod {
		return Marshal(s.confinement.now())
	}
	handler, ok := s.handlers[method]
	if !ok {
		return nil, fmt.Errorf("the worker has no method %q", method)
	}
	ctx := context.Background() //nolint:forbidigo // The process of a cancelled call is killed.
	response, err := handler(ctx, request, ask)
	if err != nil {
		return nil, err
	}

	return Marshal(response)
}

// questions are the questions of one call.
type questions struct {
	server *server
	call   uint32

	mu   sync.Mutex
	over bool
}

// ask sends a question to the parent and waits for the answer.
func (q *questions) ask(kind string, question []byte) ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.over {
		return nil, errors.New("the call is over")
	}
	parts, err := nameParts(kind, question)
	if err != nil {
		return nil, err
	}
	if size := 1 + len(kind) + len(question); size > maxQuestion {
		return nil, fmt.Errorf("a request to the provider has %d bytes; at most %d are allowed", size, maxQuestion)
	}
	if err := q.server.send(frameQuestion, q.call, parts...); err != nil {
		return nil, err
	}
	f := <-q.server.answers
	if f.kind == frameRefusal {
		return nil, errors.New(string(f.payload))
	}

	return f.payload, nil
}

// end refuses further questions, from goroutines that the handler left behind.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.over = true
}
