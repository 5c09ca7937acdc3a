package blast

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/faultline/faultline/pkg/ask/blast"
	"github.com/faultline/faultline/pkg/report"
)

// A report that Decode accepts can be rendered in every format.
func FuzzDecodeBlast(f *testing.F) {
	data, err := report.EncodeJSON(storedBlast(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"BlastReport","steps":[{"name":"a","levels":[{"failures":[{"workloads":[{}],"recovery":{}}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode("fuzz", data)
		if err != nil {
			return
		}
		for _, format := range Formats.Names() {
			if err := Formats.Write(&bytes.Buffer{}, r, format, report.Options{All: true}); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
	})
}

// Reading a written report gives the same report.
func TestBlastRoundTrip(t *testing.T) {
	want := storedBlast(t)
	for _, format := range []string{"json", "yaml"} {
		got, err := Decode("r", []byte(writeBlast(t, want, format, report.Options{})))
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(blast.Recovery{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}
