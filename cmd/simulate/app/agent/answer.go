package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/input"
	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/advice"
	"github.com/faultline/faultline/pkg/words"
)

// answer is the structured content of a tool's result.
type answer struct {
	// Answer is the first line of the report.
	Answer string `json:"answer"`
	// Command is the command line that gives the same answer.
	Command string `json:"command"`
	Basis   basis  `json:"basis"`
	// Report is the report. If it is too long for a model, it is left out, and Text has it in words.
	Report any    `json:"report,omitempty"`
	Text   string `json:"text,omitempty"`
	// ReportURI is the resource that has the whole report, and ProofURI the one that has the claims as a scenario; NoProof says why there is none.
	ReportURI string `json:"reportUri"`
	ProofURI  string `json:"proofUri,omitempty"`
	NoProof   string `json:"noProof,omitempty"`
}

// basis is what an answer rests on.
type basis struct {
	// Source is the input, as the command line of the server names it. ReadAt is when it was read: the cluster may have changed since.
	Source string `json:"source"`
	ReadAt string `json:"readAt"`
	// Server is the version of a live cluster's API server, and NotRead what may not be read, so that the answer lacks it.
	Server  string   `json:"server,omitempty"`
	NotRead []string `json:"notRead,omitempty"`
	// Assumed is what the program assumed or added on its own, a sentence each.
	Assumed []string `json:"assumed,omitempty"`
	// Partial says how far an interrupted search came: the answer is a true part of the whole.
	Partial string `json:"partial,omitempty"`
}

// answerSchema is the schema of an answer. It is the same for each tool and goes to each client, so it says what the names do not say, and no more.
var answerSchema = &jsonschema.Schema{
	Type:     "object",
	Required: []string{"answer", "command", "basis", "reportUri"},
	Properties: map[string]*jsonschema.Schema{
		"answer":  {Type: "string"},
		"command": {Type: "string", Description: "the command line that gives the same answer"},
		"basis": {
			Type: "object", Required: []string{"source", "readAt"}, Description: "what the answer rests on, and what is uncertain: pass it on",
			Properties: map[string]*jsonschema.Schema{
				"source": {Type: "string"}, "readAt": {Type: "string"}, "server": {Type: "string"}, "partial": {Type: "string"},
				"notRead": {Type: "array", Items: &jsonschema.Schema{Type: "string"}}, "assumed": {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
			},
		},
		"report":    {Type: "object", Description: "left out if it is long: then text is the report in words"},
		"text":      {Type: "string"},
		"reportUri": {Type: "string"},
		"proofUri":  {Type: "string"},
		"noProof":   {Type: "string"},
	},
}

// lines returns the basis in words.
func (b *basis) lines() string {
	var out strings.Builder
	fmt.Fprintf(&out, "Read at %s from %s.\n", b.ReadAt, b.Source)
	if len(b.NotRead) > 0 {
		fmt.Fprintf(&out, "Not read, since the user may not: %s. The answer lacks them.\n", words.And(b.NotRead))
	}
	if b.Partial != "" {
		fmt.Fprintf(&out, "Partial: %s.\n", b.Partial)
	}
	return out.String()
}

// found is an answer with all its parts.
type found struct {
	answer
	text   string          // the report in words, after its first line
	report json.RawMessage // also if the answer leaves it out
	proof  string
	failed string // what went wrong besides: a claim that does not hold
}

// Limits of what a result has inline, in bytes: clients refuse results that are too long for a model. maxFound is how many answers are kept as
// resources, and maxTurns how many questions are answered at once.
const (
	maxReport = 48 << 10
	maxProof  = 16 << 10
	maxFound  = 32
	maxTurns  = 4
)

// asker asks questions by running commands. Several may ask at once: each command has its own flags and its own world.
type asker struct {
	run     command.Runner
	streams command.Streams
	source  *source
	timeout time.Duration
	program string

	turns chan struct{}
	mu    sync.Mutex
	count int
	names []string // of the answers that are kept, the oldest first
	kept  map[string]*found
}

// ask runs the command. Its error is that of the command line, a line for each problem.
func (a *asker) ask(ctx context.Context, line commandLine) (*found, error) {
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	limit := a.timeout
	if line.timeout > 0 {
		limit = min(limit, line.timeout)
	}
	ctx, stop := exit.WithTimeLimit(ctx, limit)
	defer stop()
	dump, at, err := a.source.read(ctx)
	if err != nil {
		return nil, a.describe(err, nil)
	}
	files, err := line.applyChange(a.source)
	if err != nil {
		return nil, a.describe(err, nil)
	}
	var received *command.Answer
	s := a.streams
	s.In, s.Out, s.Err = strings.NewReader(""), io.Discard, io.Discard
	s.Given = &input.Given{Dump: dump, Files: files}
	s.Receive = func(got *command.Answer) { received = got }
	args := line.arguments(a.source)
	err = a.run(ctx, s, args)
	if received == nil {
		return nil, a.describe(err, args)
	}
	f := &found{answer: answer{Command: line.shown(a.program, a.source)}, proof: string(received.Proof)}
	f.Basis = basis{Source: a.source.shown, ReadAt: at.UTC().Format(time.RFC3339)}
	if dump != nil {
		f.Basis.Server, f.Basis.NotRead = dump.Version, dump.Forbidden
	}
	if received.NoProof != nil {
		f.NoProof = received.NoProof.Error()
	}
	if err != nil && !errors.Is(err, exit.ErrUnmet) && !exit.Interrupted(err) {
		f.failed = a.describe(err, args).Error()
	}
	return f, f.fill(received)
}

// fill adds what the report says.
func (f *found) fill(received *command.Answer) error {
	var text, document, compact bytes.Buffer
	if err := errors.Join(received.Write(&text, "text", report.Options{}), received.Write(&document, "json", report.Options{})); err != nil {
		return err
	}
	if err := json.Compact(&compact, document.Bytes()); err != nil {
		return err
	}
	var head struct {
		Notes   []string
		Partial string
	}
	if err := json.Unmarshal(compact.Bytes(), &head); err != nil {
		return err
	}
	f.Basis.Assumed, f.Basis.Partial = head.Notes, head.Partial
	f.report = compact.Bytes()
	words := text.String()
	if head.Partial != "" { // the basis says so
		words = strings.TrimPrefix(words, "Partial: "+head.Partial)
	}
	f.Answer, f.text, _ = strings.Cut(strings.TrimSpace(words), "\n")
	if len(f.report) <= maxReport {
		f.Report = f.report
	} else {
		f.Text = f.text
	}
	return nil
}

// keep keeps the answer of a tool as a resource, and drops the oldest one if there are too many.
func (a *asker) keep(tool string, f *found) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	name := fmt.Sprintf("%s-%d", tool, a.count)
	f.ReportURI = reportURI + name
	if f.proof != "" {
		f.ProofURI = proofURI + name
	}
	a.kept[name] = f
	if a.names = append(a.names, name); len(a.names) > maxFound {
		delete(a.kept, a.names[0])
		a.names = a.names[1:]
	}
}

// find returns an answer that is kept, or nil.
func (a *asker) find(name string) *found {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept[name]
}

// describe returns the error as the command line prints it, without the program's name.
func (a *asker) describe(err error, args []string) error {
	if err == nil {
		return errors.New("the command gives no answer")
	}
	return errors.New(strings.Join(exit.ErrorLines(err, args), "\n"))
}

// quoted returns the words as a shell reads them.
func quoted(given []string) string {
	var all []string
	for _, word := range given {
		all = append(all, advice.ShellWord(word))
	}
	return strings.Join(all, " ")
}
