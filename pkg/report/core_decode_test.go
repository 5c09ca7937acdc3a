package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The other reports come back as they were, too, and none is taken for another.
func TestDecodeOtherRoundTrip(t *testing.T) {
	blast, drain, explain := storedBlast(t), aDrain(), anExplanation()
	for name, test := range map[string]struct {
		want   any
		decode func(data []byte) (any, error)
	}{
		BlastKind:   {completeBlast(blast), func(data []byte) (any, error) { return DecodeBlast("r", data) }},
		DrainKind:   {completeDrain(drain), func(data []byte) (any, error) { return DecodeModel[DrainReport]("r", data, DrainKind) }},
		ExplainKind: {explain, func(data []byte) (any, error) { return DecodeModel[ExplainReport]("r", data, ExplainKind) }},
	} {
		for format, encode := range map[string]func(any) ([]byte, error){"json": toJSON, "yaml": toYAML} {
			data, err := encode(test.want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := test.decode(data)
			if err != nil {
				t.Errorf("%s %s: %v", name, format, err)
				continue
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", name, format, diff)
			}
			if _, err := Decode("r", data); err == nil || !strings.Contains(err.Error(), "give a report of apiVersion faultline/v1alpha1 and kind Report") {
				t.Errorf("%s %s is taken for a Report: %v", name, format, err)
			}
		}
	}
}
