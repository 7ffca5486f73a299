// Package command runs commands of the user's configuration that print credentials, within limits
// of time and memory. If a command prints none, its error has no secret in the text.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
)

const (
	// DefaultLimit is how long a command may take. The user cannot type input, so a command that
	// takes longer probably waits for input.
	DefaultLimit = time.Minute
	// printedLimit is how much a command may print, in bytes. stderrLimit is how much of its
	// standard error is kept, and shownLimit how much of the last line of that is shown.
	printedLimit = 1 << 20
	stderrLimit  = 64 << 10
	shownLimit   = 500
	// closing is how long output is still read after a command has ended, while its child processes
	// keep the output open.
	closing = 2 * time.Second
)

// CredentialsError reports that a command gave no credentials. It contains neither the arguments of
// the command nor its output: both can be secret. It contains the last line of standard error,
// without values of the command's environment.
type CredentialsError struct {
	Command string
	Err     error
}

func (e *CredentialsError) Error() string {
	return fmt.Sprintf("getting credentials from the command %s: %v", e.Command, e.Err)
}

// Unwrap returns the cause.
func (e *CredentialsError) Unwrap() error { return e.Err }

var errPrintsTooMuch = fmt.Errorf("it printed more than %d MiB and was stopped", printedLimit>>20)

// Command prints credentials.
type Command struct {
	Name string
	Args []string
	// Env are variables added to those of this process, such as "AWS_PROFILE=prod".
	Env []string
	// Input is the command's standard input.
	Input string
	// Limit is how long the command may take.
	Limit time.Duration
	// PrintsErrors is set if the command prints its errors to standard output. Output in JSON is no
	// error.
	PrintsErrors bool
}

// Run calls read with the output of the command. When ctx ends, the command is killed, on Unix
// together with its child processes. The error is a *CredentialsError, also if read returns one.
// secrets selects the secret values of a JSON object that was printed.
func (c Command) Run(ctx context.Context, read func(printed []byte) error, secrets func(printed map[string]any) any) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	printed := &limitedOutput{full: func() { stop(errPrintsTooMuch) }}
	process := exec.CommandContext(ctx, c.Name, c.Args...) //nolint:gosec // the user's configuration names it
	process.Env = slices.Concat(os.Environ(), c.Env)
	said := &tail{}
	process.Stdout, process.Stderr = printed, said
	if c.Input != "" {
		process.Stdin = strings.NewReader(c.Input)
	}
	process.WaitDelay = closing
	asGroup(process)
	err := process.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // The command ended; child processes keep its output open.
		if err = read(printed.content.Bytes()); err == nil {
			return nil
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("it did not end within %s and was stopped. Run it in a terminal: it may wait for input or for a login, and neither is possible here", c.Limit)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	reported := said.String()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if failed && exit.Exited() && c.PrintsErrors && reported == "" && !json.Valid(printed.content.Bytes()) {
		reported = printed.content.String()
	}
	if line := c.shown(reported, printed.content.Bytes(), secrets); line != "" {
		err = fmt.Errorf("%w; it reported: %s", err, line)
	}
	return &CredentialsError{Command: c.Name, Err: err}
}

// shown returns the last line of the command's standard error, without the secrets of its
// environment, its arguments and its output.
func (c Command) shown(said string, printed []byte, secrets func(map[string]any) any) string {
	masker := &mask.Masker{}
	for _, variable := range c.Env {
		_, value, _ := strings.Cut(variable, "=")
		masker.Add(value)
	}
	masker.Add(SecretArguments(c.Args)...)
	var output map[string]any
	if json.Unmarshal(printed, &output) == nil {
		masker.AddValues(secrets(output))
	}
	return mask.LastLine(mask.Printable(masker.Text(said)), shownLimit)
}

// SecretArguments returns the values of arguments whose names mark them as secret, such as
// "swordfish" of "--password=swordfish".
func SecretArguments(arguments []string) []string {
	var secrets []string
	for i, argument := range arguments {
		name, value, assigned := strings.Cut(argument, "=")
		if !namesSecret(name) {
			continue
		}
		if !assigned && i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "-") && strings.HasPrefix(name, "-") {
			value = arguments[i+1]
		}
		secrets = append(secrets, value)
	}
	return secrets
}

func namesSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"token", "secret", "password", "key", "credential"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// limitedOutput is the output of a command, up to printedLimit.
type limitedOutput struct {
	content bytes.Buffer
	full    func()
}

func (l *limitedOutput) Write(content []byte) (int, error) {
	if l.content.Len()+len(content) > printedLimit {
		l.full()
		return 0, errPrintsTooMuch
	}
	return l.content.Write(content)
}

// tail keeps the end of what is written to it, from the beginning of a line.
type tail struct {
	content []byte
	cut     bool
}

func (t *tail) Write(content []byte) (int, error) {
	t.content = append(t.content, content...)
	if more := len(t.content) - stderrLimit; more > 0 {
		t.content, t.cut = slices.Clone(t.content[more:]), true
	}
	return len(content), nil
}

// String omits a line whose beginning was dropped: half a secret cannot be masked.
func (t *tail) String() string {
	if !t.cut {
		return string(t.content)
	}
	_, whole, _ := strings.Cut(string(t.content), "\n")
	return whole
}
