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
