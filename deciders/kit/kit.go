// Package kit is the decider's side of the protocol between simulate and the programs that decide beside the scheduler, such as Karpenter; see
// docs/deciders.md. A program implements [Decider] and calls [Serve].
package kit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Decider decides what happens in a cluster beside its scheduler and its controllers.
type Decider interface {
	// Hello says what the decider is.
	Hello() Hello
	// Admit sets the defaults of custom resources in place, as the API server does by their definitions, and returns what is wrong with them.
	// Objects of the kinds that Hello admits are changed as the program's webhooks change new objects.
	Admit(objects []*unstructured.Unstructured) ([]Problem, error)
	// Decide does what the program does at that moment. It reads the objects of the cluster, and changes them by the methods of Cluster.
	// An error ends the run: it says why the decider cannot go on, for example that a policy names an unknown plugin.
	Decide(ctx context.Context, c *Cluster, request Request) (Answer, error)
}

// Serve answers the requests of simulate until it says bye or the input ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, d Decider) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	c := &Cluster{objects: map[Ref]*unstructured.Unstructured{}, pipe: &pipe{lines, out}}
	for {
		asked, err := c.pipe.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var said answer
		switch {
		case asked.Hello != nil && asked.Hello.Protocol != Protocol:
			err = fmt.Errorf("simulate speaks protocol %d, and this decider protocol %d; take both from the same release", asked.Hello.Protocol, Protocol)
		case asked.Hello != nil:
			said.Hello = &helloAnswer{Protocol, d.Hello()}
		case asked.Admit != nil:
			said.Admit, err = admit(d, asked.Admit)
		case asked.State != nil:
			c.change(asked.State)
			said.State = &struct{}{}
		case asked.Decide != nil:
			var decided Answer
			decided, err = d.Decide(ctx, c, *asked.Decide)
			said.Decide = &decided
		case asked.Bye != nil:
			return c.pipe.write(answer{Bye: &struct{}{}})
		default:
			err = errors.New("the request is none that protocol 1 has: hello, admit, state, decide, bye")
		}
		if err != nil {
			said = answer{Error: err.Error()}
		}
		if err := c.pipe.write(said); err != nil {
			return err
		}
	}
}

func admit(d Decider, asked *objects) (*admitAnswer, error) {
	said := &admitAnswer{}
	var all []*unstructured.Unstructured
	for _, object := range asked.Objects {
		all = append(all, &unstructured.Unstructured{Object: object})
	}
	problems, err := d.Admit(all)
	for _, object := range all {
		said.Objects = append(said.Objects, object.Object)
	}
	said.Problems = problems
	return said, err
}

// pipe reads and writes lines of JSON.
type pipe struct {
	in  *bufio.Reader
	out io.Writer
}

// read returns the next message, and io.EOF at the end of the input.
func (p *pipe) read() (*message, error) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var asked message
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, fmt.Errorf("a line that is not of the protocol: %w", err)
	}
	return &asked, nil
}

func (p *pipe) write(said answer) error {
	line, err := json.Marshal(said)
	if err == nil {
		_, err = p.out.Write(append(line, '\n'))
	}
	return err
}
