package app

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/cmd/simulate/app/command"
	"github.com/faultline/faultline/cmd/simulate/app/exit"
	"github.com/faultline/faultline/cmd/simulate/app/inmemory"
)

// patient is a context that ends after it was asked a number of times, by an interruption or by the given cause.
type patient struct {
	context.Context
	left  atomic.Int64
	cause error
}

func (p *patient) Err() error {
	if p.left.Add(-1) < 0 {
		return cmp.Or(p.cause, context.Canceled)
	}
	return nil
}

// endAfter runs the command with a context that ends after it was asked that many times.
func endAfter(args []string, asked int64, cause error) (status int, out, errOut string) {
	ctx := &patient{Context: context.Background(), cause: cause}
	ctx.left.Store(asked)
	var stdout, stderr bytes.Buffer
	status = execute(ctx, inmemory.StartProgram, command.OwnName, args, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// questions returns how often a command without interruption asks its context whether it has ended.
func questions(args []string) int64 {
	const enough = 1 << 40
	ctx := &patient{Context: context.Background()}
	ctx.left.Store(enough)
	var out, errOut bytes.Buffer
	execute(ctx, inmemory.StartProgram, command.OwnName, args, strings.NewReader(""), &out, &errOut)
	return enough - ctx.left.Load()
}

// bound returns the dump of two nodes with eight pods, each created in a second of its own.
func bound(t *testing.T) string {
	t.Helper()
	var dump strings.Builder
	for i := range 2 {
		fmt.Fprintf(&dump, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}\n", i)
	}
	for i := range 8 {
		fmt.Fprintf(&dump, `---
apiVersion: v1
kind: Pod
metadata: {name: web-%d, namespace: default, uid: web-%[1]d}
spec: {nodeName: n%d, containers: [{name: c, image: web}]}
status: {phase: Running, conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "2025-03-01T10:00:0%[1]dZ"}]}
`, i, i%2)
	}
	file := filepath.Join(t.TempDir(), "dump.yaml")
	if err := os.WriteFile(file, []byte(dump.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// An interrupted explanation has the parts that were found, and says that it is partial.
func TestPartialExplain(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		args := []string{"explain", "deploy/lorem-ipsum-deployment", "-o", format}
		partial := 0
		for left := int64(0); left < 4096 && partial == 0; left += 8 {
			ctx := &patient{Context: context.Background()}
			ctx.left.Store(left)
			var out, errOut bytes.Buffer
			status := execute(ctx, inmemory.StartProgram, command.OwnName, args, strings.NewReader(""), &out, &errOut)
			if status == exit.Answered {
				break
			}
			if status != 130 {
				t.Fatalf("%q: exit status %d: %s", args, status, errOut.String())
			}
			if out.Len() > 0 {
				partial++
				if !strings.Contains(out.String(), "interrupted ") || !strings.Contains(out.String(), "lorem-ipsum-deployment") {
					t.Errorf("%q: the report of a part:\n%s", args, out.String())
				}
			}
		}
		if partial == 0 {
			t.Errorf("%q: no report of a part", args)
		}
	}
}

// An interrupted command reports what it has finished, says so in every format, and exits with the status that a shell expects.
func TestPartial(t *testing.T) {
	for _, args := range [][]string{
		{"run"}, {"run", "-o", "json"}, {"blast"}, {"blast", "-o", "json"}, {"lint", "-f", "testdata/mutations/web.yaml"},
		{"test", "../../../scenarios/ci", "../../../scenarios/zone-failure", "../../../scenarios/soft-or-hard"},
		{"explain", "deploy/lorem-ipsum-deployment"}, {"compare", "../../../scenarios/soft-or-hard"},
		{"sweep", "../../../scenarios/weights"}, {"advise", "deploy/web", "../../../scenarios/soft-or-hard", "-o", "json"},
		{"capacity", "../../../scenarios/zone-failure", "--survive", "zone"}, {"run", "../../../scenarios/soft-or-hard", "--trials", "20"},
		{"size", "../../../scenarios/zone-failure", "--step", "workloads", "--survive", "zone"}, {"verify", bound(t), "-o", "markdown"},
		{"review", "../../../scenarios/zone-failure", "--level", "zone"}, {"review", "../../../scenarios/zone-failure", "-o", "json"},
		{"plan", "../../../scenarios/planning/zone-lost", "--step", "web", "--survive", "zone"}, {"advise", "--all", "../../../scenarios/soft-or-hard"},
		{"consolidate", "../../../scenarios/zone-failure", "--step", "workloads"}, {"rebalance", "../../../scenarios/operations/rebalance", "--step", "b-is-back"},
		{"capacity", "deploy/web", "../../../scenarios/soft-or-hard", "--survive", "zone"},
	} {
		partial := 0
		asked := questions(args)
		// Some commands finish their first part early, capacity only after two fifths of its work: so the test tries many moments.
		for part := int64(0); part < 24 && partial < 2; part++ {
			status, out, errOut := endAfter(args, asked*part/24, nil)
			if status == exit.Answered || status == exit.Unmet {
				continue
			}
			if diff := gocmp.Diff("simulate: interrupted\n", errOut); status != 130 || diff != "" {
				t.Fatalf("%q: exit status %d, standard error (-want +got):\n%s", args, status, diff)
			}
			said := strings.HasPrefix(out, "Partial: interrupted ") || strings.Contains(out, `"partial": "interrupted `)
			if out != "" && !said {
				t.Fatalf("%q: the report does not say that it is partial:\n%s", args, out)
			}
			if said {
				partial++
			}
		}
		if args[0] != "explain" && args[0] != "lint" && partial == 0 { // explain and lint have no part of one pod or one workload
			t.Errorf("%q: no report of a part", args)
		}
	}
}

// A command whose time is over prints the same as an interruption at the same moment, and exits with 0. Before any part is known, it says so and what
// to do.
func TestTimeout(t *testing.T) {
	for _, test := range []struct {
		args  []string
		first string // beginning of the first line of any part of the answer
	}{
		{[]string{"plan", "../../../scenarios/planning/zone-lost", "--step", "web", "--survive", "zone"}, "Partial: interrupted "},
		{[]string{"size", "../../../scenarios/zone-failure", "--step", "workloads", "--survive", "zone"}, "Partial: interrupted "},
		{[]string{"capacity", "../../../scenarios/zone-failure"}, "Partial: interrupted after "},
		{[]string{"consolidate", "../../../scenarios/zone-failure", "--step", "workloads"}, "Partial: interrupted after "},
		{[]string{"blast", "../../../scenarios/zone-failure"}, "Partial: interrupted "},
	} {
		asked, parts, nothing := questions(test.args), 0, 0
		for part := int64(0); part < 12; part++ {
			status, out, errOut := endAfter(test.args, asked*part/12, exit.ErrTimeOver)
			switch {
			case status == exit.Failed && out == "" && strings.HasPrefix(errOut, "simulate: error: --timeout: the time was over before any part of the answer was known; "):
				nothing++
			case status == exit.Answered && errOut == "" && strings.HasPrefix(out, test.first):
				parts++
			case status == exit.Answered && errOut == "" && !strings.HasPrefix(out, "Partial: "): // the command finished
			default:
				t.Errorf("%q, part %d: exit status %d, standard error %q, standard output:\n%s", test.args, part, status, errOut, out)
			}
		}
		if parts == 0 || nothing == 0 {
			t.Errorf("%q: %d parts of answers, and %d times nothing known", test.args, parts, nothing)
		}
	}
}
