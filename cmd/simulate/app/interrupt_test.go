package app

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// patient is a context that ends when it has been asked a number of times.
type patient struct {
	context.Context
	left atomic.Int64
}

func (p *patient) Err() error {
	if p.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// An interrupted command reports on what it has finished, says so in every format, and exits as a shell expects it.
func TestPartial(t *testing.T) {
	for _, args := range [][]string{
		{"run"}, {"run", "-o", "json"}, {"blast"}, {"blast", "-o", "json"}, {"lint", "-f", "testdata/mutations/web.yaml"}, {"test", "../../../scenarios/ci"},
		{"explain", "deploy/lorem-ipsum-deployment"}, {"compare", "../../../scenarios/soft-or-hard"},
	} {
		partial := 0
		// The number of questions that a command asks is its own; somewhere on the way it has finished a part.
		for left := int64(0); left < 4096; left = left*2 + 1 {
			ctx := &patient{Context: context.Background()}
			ctx.left.Store(left)
			var out, errOut bytes.Buffer
			status := execute(ctx, args, strings.NewReader(""), &out, &errOut)
			if status == exitAnswered || status == exitUnmet {
				break
			}
			if diff := cmp.Diff("simulate: interrupted\n", errOut.String()); status != 130 || diff != "" {
				t.Fatalf("%q: exit status %d, standard error (-want +got):\n%s", args, status, diff)
			}
			said := strings.HasPrefix(out.String(), "Partial: interrupted ") || strings.Contains(out.String(), `"partial": "interrupted `)
			if out.Len() > 0 && !said {
				t.Fatalf("%q: the report does not say that it is partial:\n%s", args, out.String())
			}
			if said {
				partial++
			}
		}
		if (args[0] == "run" || args[0] == "blast") && partial == 0 {
			t.Errorf("%q: no report of a part", args)
		}
	}
}
