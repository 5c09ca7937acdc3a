package worker

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/faultline/faultline/pkg/playground"
)

// patience is how long a process may take to answer after its request was canceled, before it is ended.
const patience = time.Second

// Pool is a set of processes, each of which answers one request at a time.
type Pool struct {
	engine  *playground.Engine // has the limits and the large files
	command func() *exec.Cmd

	mu   sync.Mutex
	idle []*process // the one that answered last is the last, and answers next: it has the last run in memory
}

// NewPool returns a pool without processes. They run the command, which has to call [Serve]. The engine answers nothing; it has the limits
// of a request, and the large files that it was given.
func NewPool(engine *playground.Engine, command func() *exec.Cmd) *Pool {
	return &Pool{engine: engine, command: command}
}

// Answer returns the response to a request, as [playground.Engine.Answer] does. It returns within a second after the context has ended, and
// soon after the time limit, whatever the request does.
func (p *Pool) Answer(ctx context.Context, method string, body []byte) []byte {
	if limit := p.engine.Limits.Time; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit+patience, p.engine.Limits.TimeOver()) // the process itself ends at the limit
		defer stop()
	}
	worker, err := p.take()
	if err != nil {
		return playground.Refuse(err)
	}
	answer, err := worker.ask(ctx, method, body)
	if err == nil && playground.IsMissing(answer) && p.giveTexts(ctx, worker, body) {
		answer, err = worker.ask(ctx, method, body)
	}
	if err != nil || worker.last {
		worker.end()
	} else {
		p.put(worker)
	}
	if err != nil {
		return playground.Refuse(err)
	}
	return answer
}

// giveTexts gives the process the large files that the request names. It returns false if they are not known either.
func (p *Pool) giveTexts(ctx context.Context, worker *process, body []byte) bool {
	var asked struct {
		Input playground.Input `json:"input"`
	}
	if json.Unmarshal(body, &asked) != nil {
		return false
	}
	for _, id := range asked.Input.Kept {
		text, known := p.engine.KeptText(id)
		if !known {
			return false
		}
		keep, _ := json.Marshal(playground.KeepRequest{Text: text}) // a string always has a JSON encoding
		if _, err := worker.ask(ctx, "keep", keep); err != nil {
			return false
		}
	}
	return true
}

// Close ends all processes that answer nothing.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, worker := range p.idle {
		worker.end()
	}
	p.idle = nil
}

// take returns the process that answered last, or a new one.
func (p *Pool) take() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		worker := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		select {
		case <-worker.ended:
		default:
			return worker, nil
		}
	}
	return start(p.command())
}

func (p *Pool) put(worker *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, worker)
}

// process is a running command.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	writer  *gob.Encoder
	answers chan response
	ended   chan struct{} // closed when the process has ended
	asked   int           // the number of requests
	last    bool          // the process ends after this answer
}

func start(command *exec.Cmd) (*process, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("the engine does not start: %w", err)
	}
	p := &process{command: command, in: in, writer: gob.NewEncoder(in), answers: make(chan response, 1), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		reader := gob.NewDecoder(out)
		for {
			var next response
			if reader.Decode(&next) != nil {
				_ = command.Wait() // its state is asked for
				return
			}
			p.answers <- next
		}
	}()
	return p, nil
}

// ask returns the process's response. If the context ends, it cancels the request; an error means that the process is of no more use.
func (p *process) ask(ctx context.Context, method string, body []byte) ([]byte, error) {
	p.asked++
	number, written := p.asked, make(chan error, 1)
	go func() { written <- p.writer.Encode(request{number, method, body}) }()
	canceled := ctx.Done()
	var over <-chan time.Time
	for {
		select {
		case next := <-p.answers:
			p.last = next.Last
			return next.Body, nil
		case err := <-written:
			if err == nil {
				written = nil
				continue
			}
			p.end() // it reads no more
			<-p.ended
			return nil, p.failure()
		case <-p.ended:
			return nil, p.failure()
		case <-canceled:
			canceled, over = nil, time.After(patience)
			go func(written chan error) {
				if written == nil || <-written == nil {
					_ = p.writer.Encode(request{Number: number}) // a process that does not read is ended
				}
			}(written)
			written = nil
		case <-over:
			return nil, context.Cause(ctx)
		}
	}
}

// failure says why the process has ended.
func (p *process) failure() error {
	if p.command.ProcessState.ExitCode() == exitMemory {
		return playground.NewLimitError("the answer takes more than %d GiB of memory; take a smaller scenario, or use the command line", maxMemory>>30)
	}
	return fmt.Errorf("the engine has ended: %s", bytes.TrimSpace([]byte(p.command.ProcessState.String())))
}

// end ends the process, whatever it does.
func (p *process) end() {
	_ = p.command.Process.Kill() // it may have ended by itself
	_ = p.in.Close()
}
