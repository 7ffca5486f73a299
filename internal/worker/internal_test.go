package worker

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOptions(t *testing.T) {
	t.Parallel()

	const gib = 1 << 30
	cores := runtime.GOMAXPROCS(0)
	tests := map[string]struct {
		options Options
		total   int64
		want    Options
	}{
		"defaults": {total: 1 << 40, want: Options{Processes: cores, Memory: gib, Output: 64 << 20, Timeout: time.Minute, Budget: 10 * time.Minute}},
		"unknown memory": {
			options: Options{Processes: 8},
			want:    Options{Processes: 8, Memory: gib, Output: 64 << 20, Timeout: time.Minute, Budget: 10 * time.Minute},
		},
		"fewer workers": {
			options: Options{Processes: 8, Output: 1, Timeout: 1}, total: 6 * gib,
			want: Options{Processes: 3, Memory: gib, Output: 1, Timeout: 1, Budget: 10},
		},
		"less memory": {
			options: Options{Processes: 8, Output: 1, Timeout: 1}, total: gib,
			want: Options{Processes: 1, Memory: gib / 2, Output: 1, Timeout: 1, Budget: 10},
		},
		"little memory": {
			options: Options{Processes: 8, Output: 1, Timeout: 1}, total: gib / 8,
			want: Options{Processes: 1, Memory: minMemory, Output: 1, Timeout: 1, Budget: 10},
		},
		"long output": {
			options: Options{Processes: 1, Memory: 1, Output: math.MaxInt64, Timeout: 1}, total: gib,
			want: Options{Processes: 1, Memory: 1, Output: math.MaxUint32, Timeout: 1, Budget: 10},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(tt.want, tt.options.withDefaults(tt.total)); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()

	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		options Options
		want    []string
	}{
		"own executable": {options: Options{Memory: 5, Timeout: 7}, want: []string{path, Argument, "7", "5"}},
		"given":          {options: Options{Command: []string{"a", "b"}, Memory: 5, Timeout: 7}, want: []string{"a", "b", "7", "5"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := tt.options.command()
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("error %v, command (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAvailableMemory(t *testing.T) {
	t.Parallel()

	if got := availableMemory(); runtime.GOOS == "linux" && got < 64<<20 {
		t.Errorf("this machine has %d bytes of memory", got)
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()

	var stream bytes.Buffer
	large := bytes.Repeat([]byte("x"), joined+1)
	for _, parts := range [][][]byte{nil, {[]byte("one"), []byte("two")}, {large, large}} {
		if err := writeFrame(&stream, frameResult, 7, parts...); err != nil {
			t.Fatal(err)
		}
	}
	reader := iotest.HalfReader(&stream)
	for _, want := range []string{"", "onetwo", string(large) + string(large)} {
		got, err := readFrame(reader, func(frameKind) int64 { return 1 << 20 })
		if err != nil || got.kind != frameResult || got.call != 7 || string(got.payload) != want {
			t.Errorf("read kind %d of call %d with %d bytes, error %v", got.kind, got.call, len(got.payload), err)
		}
	}
	if _, err := readFrame(reader, nil); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
}

func TestReadFrameRefuses(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		stream string
		want   string
	}{
		"half a header":  {stream: "\x07\x00", want: "reading a frame: unexpected EOF"},
		"half a payload": {stream: "\x07\x00\x00\x00\x01\x00\x00\x00\x05half", want: "reading a frame: unexpected EOF"},
		"no payload":     {stream: "\x07\x00\x00\x00\x01\x00\x00\x00\x05", want: "reading a frame: unexpected EOF"},
		"too long":       {stream: "\x07\x00\x00\x00\x01\xff\xff\xff\xff", want: "a frame of kind 7 has 4294967295 bytes; at most 100 are allowed"},
		"unknown kind":   {stream: "\x08\x00\x00\x00\x01\x00\x00\x00\x00", want: "a frame of kind 8 is not allowed here"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := readFrame(strings.NewReader(tt.stream), resultsOnly)
			if err == nil || err.Error() != tt.want {
				t.Errorf("the error is %v, not %s", err, tt.want)
			}
		})
	}
}

// resultsOnly allows only short results.
func resultsOnly(kind frameKind) int64 {
	if kind == frameResult {
		return 100
	}

	return -1
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x07\x00\x00\x00\x01\x00\x00\x00\x04four"))
	f.Add([]byte("\x07\x00\x00\x00\x01\xff\xff\xff\xff"))
	f.Add([]byte("\x06\x00"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := readFrame(bytes.NewReader(stream), resultsOnly)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, got.kind, got.call, got.payload); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(stream, again.Bytes()) {
			t.Errorf("%x was read as %x", stream, again.Bytes())
		}
		if name, rest, err := splitName(got.payload); err == nil && 1+len(name)+len(rest) != len(got.payload) {
			t.Errorf("%x was split into %q and %x", got.payload, name, rest)
		}
	})
}

func TestRefusedIsBounded(t *testing.T) {
	t.Parallel()

	var r refused
	id := func(i int) callID { return sha256.Sum256(fmt.Append(nil, i)) }
	for i := range 3 * maxRefused {
		r.add(id(i), fmt.Errorf("error %d", i))
		r.add(id(i), errors.New("another error"))
	}
	if len(r.errors) != maxRefused || len(r.order) != maxRefused {
		t.Errorf("%d errors of %d calls are kept", len(r.errors), len(r.order))
	}
	if err := r.get(id(2*maxRefused - 1)); err != nil {
		t.Errorf("an old call is refused: %v", err)
	}
	if err := r.get(id(2 * maxRefused)); err == nil || err.Error() != fmt.Sprint("error ", 2*maxRefused) {
		t.Errorf("a new call is refused with: %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		err  error
		want string
	}{
		"memory":  {err: &LimitError{Limit: LimitMemory, Value: formatBytes(1 << 30)}, want: "it took more than 1 GiB of memory"},
		"output":  {err: &LimitError{Limit: LimitOutput, Value: formatBytes(1000)}, want: "it returned more than 1000 bytes"},
		"time":    {err: &LimitError{Limit: LimitTime, Value: time.Minute.String()}, want: "it took more than 1m0s"},
		"stack":   {err: &LimitError{Limit: LimitStack, Value: formatBytes(1536 << 10)}, want: "it took more than 1536 KiB of stack"},
		"crash":   {err: &CrashError{Reason: "signal: killed"}, want: "the worker process ended: signal: killed"},
		"handler": {err: &HandlerError{Text: "no"}, want: "no"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := tt.err.Error(); got != tt.want {
				t.Errorf("%q, not %q", got, tt.want)
			}
		})
	}
}

func TestFatalReason(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("a long line of text\n", 1000)
	tests := map[string]struct {
		writes []string
		reason string
		memory bool
	}{
		"nothing":       {},
		"text":          {writes: []string{long}},
		"panic":         {writes: []string{"panic: x\n\ngoroutine 1"}},
		"stack":         {writes: []string{"runtime: goroutine stack exceeds 67108864-byte limit\nfatal error: stack overflow\n"}, reason: "stack overflow"},
		"maps":          {writes: []string{"fatal error: concurrent map writes\n"}, reason: "concurrent map writes"},
		"out of memory": {writes: []string{"runtime: out of memory: x\nfatal error: out of memory\n"}, reason: "out of memory", memory: true},
		"cannot map":    {writes: []string{"fatal error: runtime: cannot allocate memory\n"}, reason: "runtime: cannot allocate memory", memory: true},
		"no thread":     {writes: []string{"runtime/cgo: pthread_create failed: x\nSIGABRT\n"}, reason: noThread, memory: true},
		"in parts":      {writes: []string{long, "fatal ", "error: stack ", "overflow\n", long}, reason: "stack overflow"},
		"no last line":  {writes: []string{long, "fatal error: stack overflow"}, reason: "stack overflow"},
		"second crash":  {writes: []string{"panic: one\nfatal error: two\n", "fatal error: three\n"}, reason: "two"},
		"within a line": {writes: []string{"no fatal error: all is well\n"}},
		"long line":     {writes: []string{strings.Repeat("x", 2*maxLine), "fatal error: x\nfatal error: y\n"}, reason: "y"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var r crashReport
			for _, text := range tt.writes {
				if n, err := r.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("wrote %d bytes, error %v", n, err)
				}
			}
			if reason := r.reason(); reason != tt.reason || isOutOfMemory(reason) != tt.memory {
				t.Errorf("reason %q, memory %t", reason, isOutOfMemory(reason))
			}
			r.reset()
			if got := r.reason(); got != "" {
				t.Errorf("after a reset: %q", got)
			}
		})
	}
}
