package kafscale

import (
	"os"
	"testing"

	"github.com/faultline/faultline/pkg/input/operator"
)

// FuzzValues looks for values of the chart that make it panic.
func FuzzValues(f *testing.F) {
	data, err := os.ReadFile("../../../../scenarios/kafscale/values.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("proxy: {enabled: true, replicaCount: 3, affinity: {podAntiAffinity: null}}"))
	f.Add([]byte("null"))
	f.Add([]byte("3"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := Options{Values: []Document{{Name: "values.yaml", Data: data}}}
		if opts.Validate() != nil {
			return
		}
		// What is valid for the chart may be invalid for the API server, which reports it.
		_, _ = operator.Install([]operator.Operator{New(opts)})
	})
}
