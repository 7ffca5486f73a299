package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
)

// call is one request to a worker.
type call struct {
	// parts are the payload of its frame: the method and the request.
	parts [][]byte
	ask   Ask
}

// newCall encodes a request.
func newCall(method string, request any, ask Ask) (call, error) {
	encoded, err := Marshal(request)
	if err != nil {
		return call{}, err
	}
	if len(encoded) > maxRequest {
		return call{}, fmt.Errorf("a request has %d bytes; at most %d are allowed", len(encoded), maxRequest)
	}
	parts, err := nameParts(method, encoded)
	if err != nil {
		return call{}, err
	}

	return call{parts: parts, ask: ask}, nil
}

// id returns the same value for equal calls.
func (c call) id() callID {
	hash := sha256.New()
	for _, part := range c.parts {
		_, _ = hash.Write(part) // A hash never fails.
	}

	return callID(hash.Sum(nil))
}

var (
	// errNotBegun reports that a worker ended before it began the call.
	errNotBegun = errors.New("the worker ended before the call began")
	// errLateResponse reports that the time of the call was over before the parent could send a
	// response.
	errLateResponse = errors.New("the response to a request of the worker was too late")
)

// exchange runs a call on the worker. After an error other than a [HandlerError], the worker cannot
// be used again.
func (p *process) exchange(ctx context.Context, c call) ([]byte, error) {
	p.calls++
	p.stderr.reset()
	if err := writeFrame(p.stdin, frameCall, p.calls, c.parts...); err != nil {
		return nil, errors.Join(errNotBegun, p.lost())
	}
	if _, err := p.receive(frameBegun); err != nil {
		return nil, errors.Join(errNotBegun, err)
	}
	for {
		f, err := p.receive(frameQuestion, frameResult, frameError)
		switch {
		case err != nil:
			return nil, err
		case f.kind == frameResult:
			return f.payload, nil
		case f.kind == frameError:
			return nil, &HandlerError{Text: string(f.payload)}
		}
		if err := p.answer(ctx, c.ask, f.payload); err != nil {
			return nil, err
		}
	}
}

// receive returns the next frame. It must belong to the current call and have one of these kinds.
func (p *process) receive(kinds ...frameKind) (frame, error) {
	f, ok := <-p.frames
	if !ok {
		return frame{}, p.death()
	}
	if f.call != p.calls {
		return frame{}, &protocolError{problem: fmt.Sprintf("it sent a frame of call %d during call %d", f.call, p.calls)}
	}
	if !slices.Contains(kinds, f.kind) {
		return frame{}, &protocolError{problem: fmt.Sprintf("it sent a frame of kind %d out of order", f.kind)}
	}

	return f, nil
}

// lost returns why nothing could be written to the worker. It waits for the end of the worker's
// output, so that the crash report is complete.
func (p *process) lost() error {
	for range p.frames {
		continue // Frames that the worker sent before are not used.
	}

	return p.death()
}

// answer sends the worker the answer to its question.
func (p *process) answer(ctx context.Context, ask Ask, payload []byte) error {
	kind, question, err := splitName(payload)
	if err != nil {
		return err
	}
	reply := frameResponse
	content, err := answerOf(ctx, ask, kind, question)
	if err != nil {
		reply, content = frameRefusal, []byte(err.Error())
	}
	if ctx.Err() != nil {
		return errLateResponse
	}
	if err := writeFrame(p.stdin, reply, p.calls, content); err != nil {
		return p.lost()
	}

	return nil
}

func answerOf(ctx context.Context, ask Ask, kind string, question []byte) ([]byte, error) {
	if ask == nil {
		return nil, fmt.Errorf("requests such as %q are not permitted here", kind)
	}
	answer, err := ask(ctx, kind, question)
	if err == nil && len(answer) > maxRequest {
		return nil, fmt.Errorf("a response has %d bytes; at most %d are allowed", len(answer), maxRequest)
	}

	return answer, err
}
