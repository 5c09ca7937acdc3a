package sweep

import (
	"bytes"
	"testing"

	"github.com/faultline/faultline/pkg/report"
)

// What DecodeSweep accepts can be rendered as text and merged with itself, or is refused.
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
