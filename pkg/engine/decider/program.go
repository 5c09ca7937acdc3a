package decider

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline/faultline/pkg/cluster"
	"github.com/faultline/faultline/pkg/words"
)

// Command says how to start a decider.
type Command struct {
	// Name is the decider's name in a scenario, such as karpenter.
	Name string
	// Args are the program and its arguments; Dir is the folder in which it runs.
	Args []string
	Dir  string
	// Timeout limits each answer.
	Timeout time.Duration
}

// Program is a decider that runs. It is not safe for concurrent use.
type Program struct {
	Hello   Hello
	command Command
	process *exec.Cmd
	in      io.WriteCloser
	lines   chan line
	stderr  *tail
	ended   chan struct{}
	known   *cluster.State // what the program knows of the cluster
	reads   map[string]bool
	// conditioned are the pods that the program knows with another condition than the cluster does.
	conditioned map[types.UID]conditioned
}

// line is a line that the program wrote.
type line struct {
	text []byte
	err  error
}

// Start starts the program. kubernetes is the version of the scheduler beside it.
func Start(command Command, kubernetes string) (*Program, error) {
	p := &Program{command: command, lines: make(chan line), stderr: &tail{}, ended: make(chan struct{}), known: &cluster.State{}}
	p.process = exec.Command(command.Args[0], command.Args[1:]...)
	p.process.Dir, p.process.Stderr = command.Dir, p.stderr
	var err error
	if p.in, err = p.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.process.Start(); err != nil {
		return nil, fmt.Errorf("decider %s cannot be started: %w", command.Name, err)
	}
	go p.read(out)
	said, err := p.ask(context.Background(), Message{Hello: &Hello{Protocol: Protocol, Kubernetes: kubernetes}})
	switch {
	case err != nil:
	case said.Hello == nil:
		err = p.errorf("does not answer hello by hello")
	case said.Hello.Protocol != Protocol:
		err = p.errorf("speaks protocol %d, and simulate protocol %d; take both from the same release", said.Hello.Protocol, Protocol)
	case said.Hello.Name == "":
		err = p.errorf("says no name in its hello")
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	p.Hello = *said.Hello
	if len(p.Hello.Reads) > 0 {
		p.reads = map[string]bool{}
		for _, kind := range p.Hello.Reads {
			p.reads[kind] = true
		}
	}
	return p, nil
}

// read passes on the lines that the program writes, until it ends.
func (p *Program) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		text, err := lines.ReadBytes('\n')
		select {
		case p.lines <- line{text, err}:
		case <-p.ended:
			return
		}
		if err != nil {
			return
		}
	}
}

// ask sends a request, and returns the next line of the program.
func (p *Program) ask(ctx context.Context, request Message) (*Message, error) {
	if err := p.send(request); err != nil {
		return nil, err
	}
	return p.receive(ctx)
}

func (p *Program) send(message Message) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err = p.in.Write(append(text, '\n')); err != nil {
		return p.errorf("does not read what it is asked: %v", err)
	}
	return nil
}

// receive returns the next line of the program. An error that the program says is an error.
func (p *Program) receive(ctx context.Context) (*Message, error) {
	limit := time.NewTimer(p.command.Timeout)
	defer limit.Stop()
	var got line
	select {
	case got = <-p.lines:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-limit.C:
		return nil, p.errorf("has not answered within %s; raise --decider-timeout if it needs longer", words.FormatDuration(p.command.Timeout))
	}
	if got.err != nil {
		reason := "has ended"
		if err := p.process.Wait(); err != nil {
			reason += ": " + err.Error()
		}
		return nil, p.errorf("%s", reason)
	}
	var said Message
	if err := json.Unmarshal(got.text, &said); err != nil {
		return nil, p.errorf("has written a line that is not of the protocol: %s", cut(string(got.text)))
	}
	if said.Error != "" {
		return nil, fmt.Errorf("decider %s: %s", p.command.Name, cut(said.Error))
	}
	return &said, nil
}

// errorf returns an error about the program, with the last lines that it wrote to stderr.
func (p *Program) errorf(format string, args ...any) error {
	err := fmt.Errorf("decider %s "+format, append([]any{p.command.Name}, args...)...)
	if last := p.stderr.last(); last != "" {
		err = fmt.Errorf("%w; it said: %s", err, last)
	}
	return err
}

// cut returns a text as one line that is not long.
func cut(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + " …"
	}
	return text
}

// Answer is what a decider has decided, beside its calls.
type Answer struct {
	// Again is when to ask again although nothing has changed; zero: never.
	Again  time.Time
	Memory json.RawMessage
	Events []Event
}

// Decide asks the program what to do at that time. It passes each call to do, which returns the object as it is now (nil if it is gone), or
// why the API server refuses.
func (p *Program) Decide(ctx context.Context, now metav1.Time, seed uint64, memory json.RawMessage, do func(*Message) (cluster.Object, *Refusal, error)) (*Answer, error) {
	said, err := p.ask(ctx, Message{Decide: &Decide{Now: &now, Seed: seed, Memory: memory}})
	for {
		if err != nil {
			return nil, err
		}
		if said.Decide != nil {
			answer := &Answer{Memory: said.Decide.Memory, Events: said.Decide.Events}
			if again := said.Decide.Again; again != nil {
				if !again.After(now.Time) {
					return nil, p.errorf("wants to be asked again at %s, and it is %s", again.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
				}
				answer.Again = again.Time
			}
			return answer, nil
		}
		if said.Create == nil && said.Patch == nil && said.Delete == nil && said.Evict == nil {
			return nil, p.errorf("answers decide by none of create, patch, delete, evict, decide")
		}
		obj, refused, failed := do(said)
		if failed != nil {
			return nil, failed
		}
		reply := Message{Refused: refused}
		if refused == nil {
			if reply.Stored, err = encodeStored(obj); err != nil {
				return nil, err
			}
		}
		said, err = p.ask(ctx, reply)
	}
}

// Admit returns the objects with the program's defaults, and what is wrong with them. An object with which something is wrong stays as it is.
func (p *Program) Admit(ctx context.Context, objects []cluster.Object) ([]cluster.Object, []Problem, error) {
	var request Admit
	for _, obj := range objects {
		text, err := encode(obj)
		if err != nil {
			return nil, nil, err
		}
		request.Objects = append(request.Objects, text)
	}
	said, err := p.ask(ctx, Message{Admit: &request})
	if err != nil {
		return nil, nil, err
	}
	if said.Admit == nil || len(said.Admit.Objects) != len(objects) {
		return nil, nil, p.errorf("does not answer admit by as many objects")
	}
	wrong := map[int]bool{}
	for _, problem := range said.Admit.Problems {
		if problem.Index < 0 || problem.Index >= len(objects) {
			return nil, nil, p.errorf("names the object %d of %d", problem.Index, len(objects))
		}
		wrong[problem.Index] = true
	}
	all := slices.Clone(objects)
	for i, text := range said.Admit.Objects {
		if wrong[i] {
			continue
		}
		if all[i], err = p.Decode(text); err != nil {
			return nil, nil, err
		}
	}
	return all, said.Admit.Problems, nil
}

// Describe returns the problem as one line, with the name of the object.
func (p *Problem) Describe(of cluster.Object) string {
	return fmt.Sprintf("%s: %s: %s", cluster.RefTo(of).Describe(), cmp.Or(p.Field, "object"), cut(p.Message))
}

// Admits reports whether the program sets defaults of the object when it is created: of its own kinds, and of the kinds of its webhooks.
func (p *Program) Admits(obj cluster.Object) bool {
	if r, is := obj.(*cluster.CustomResource); is {
		return p.Owns(r)
	}
	return slices.Contains(p.Hello.Admits, cluster.KindOf(obj))
}

// Owns reports whether the resource is of a kind of the program's own.
func (p *Program) Owns(r *cluster.CustomResource) bool {
	return p.resource(r.GetAPIVersion(), r.GetKind()) != nil
}

// resource returns the program's own kind in that version, or else in another version of the same group; nil if it has none.
func (p *Program) resource(apiVersion, kind string) *Resource {
	for i := range p.Hello.Resources {
		if of := &p.Hello.Resources[i]; of.Kind == kind && of.APIVersion == apiVersion {
			return of
		}
	}
	return nil
}

// Close says bye, and ends the program if it does not end itself.
func (p *Program) Close() {
	if p.send(Message{Bye: &struct{}{}}) == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = p.receive(ctx)
	}
	p.kill()
}

func (p *Program) kill() {
	close(p.ended)
	p.in.Close()
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
}
