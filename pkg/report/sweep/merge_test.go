package sweep

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/report"
)

// An interrupted shard can be merged: the error names the points that it lacks, which need another report.
func TestMergePartial(t *testing.T) {
	whole := swept(t)
	part := *whole
	part.Partial, part.Points = "interrupted after 28 of 30 points", whole.Points[:28]
	_, err := Merge([]string{"part"}, []*Report{&part})
	if want := "2 of 30 points are missing: 28, 29; give the reports of all shards, and run those again that have failed"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	merged, err := Merge([]string{"part", "whole"}, []*Report{&part, whole})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, merged); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A report that Decode accepts can be rendered as text, and merged with itself or refused.
func FuzzMergeSweeps(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"SweepReport","parameters":["a"],"total":1,"points":[{"index":0,"values":{"a":1},"levels":[{"topologyKey":"zone"}]}]}`))
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"SweepReport","total":9223372036854775807,"points":[{"index":-1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := report.Decode[Report]("fuzz", data, Kind)
		if err != nil {
			return
		}
		whole, err := Merge([]string{"a", "b"}, []*Report{r, r})
		if err != nil {
			return
		}
		for _, format := range []string{"text", "json", "yaml", "markdown", "html", "csv"} {
			if err := Formats.Write(&bytes.Buffer{}, whole, format, report.Options{All: true}); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
	})
}
