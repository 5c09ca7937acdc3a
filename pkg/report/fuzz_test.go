package report

import (
	"bytes"
	"testing"
)

// What DecodeBlast accepts can be rendered in every format, and compared with itself without a difference.
func FuzzDecodeBlast(f *testing.F) {
	data, err := toJSON(completeBlast(storedBlast(f)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"BlastReport","steps":[{"name":"a","levels":[{"failures":[{"workloads":[{}],"recovery":{}}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeBlast("fuzz", data)
		if err != nil {
			return
		}
		for _, format := range BlastFormats.Names() {
			if err := BlastFormats.Write(&bytes.Buffer{}, r, format, Options{All: true}); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
		if d := NewBlastDiff(r, r, "dev"); len(d.Failures) > 0 {
			t.Errorf("it differs from itself: %+v", d.Failures)
		}
	})
}

// What DecodeSweep accepts can be rendered as text and merged with itself, or is refused.
func FuzzMergeSweeps(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"SweepReport","parameters":["a"],"total":1,"points":[{"index":0,"values":{"a":1},"levels":[{"topologyKey":"zone"}]}]}`))
	f.Add([]byte(`{"apiVersion":"faultline/v1alpha1","kind":"SweepReport","total":9223372036854775807,"points":[{"index":-1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeModel[SweepReport]("fuzz", data, SweepKind)
		if err != nil {
			return
		}
		whole, err := MergeSweeps([]string{"a", "b"}, []*SweepReport{r, r})
		if err != nil {
			return
		}
		for _, format := range []string{"text", "json", "yaml", "markdown", "html", "csv"} {
			if err := SweepFormats.Write(&bytes.Buffer{}, whole, format, Options{All: true}); err != nil {
				t.Fatalf("%s: %v", format, err)
			}
		}
	})
}
