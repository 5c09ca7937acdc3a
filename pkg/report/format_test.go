package report_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/input/manifest"
	"github.com/faultline/faultline/pkg/report/doc"
	"github.com/faultline/faultline/pkg/report/format/findings"
)

func TestTextHeads(t *testing.T) {
	tests := []struct{ keys, want []string }{
		{[]string{doc.Region, doc.Zone}, []string{"REGION", "ZONE"}},
		{[]string{"example.com/rack", "pool"}, []string{"RACK", "POOL"}},
		{[]string{doc.Zone, "failure-domain.beta.kubernetes.io/zone"}, []string{"TOPOLOGY.KUBERNETES.IO/ZONE", "FAILURE-DOMAIN.BETA.KUBERNETES.IO/ZONE"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, doc.ColumnTitles(test.keys)); diff != "" {
			t.Errorf("%v: %s", test.keys, diff)
		}
	}
}

func TestTextPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0%", 0.001: "<1%", 0.01: "1%", 2. / 3: "67%", 0.99: "99%", 0.999: ">99%", 1: "100%"} {
		if got := doc.Percent(share); got != want {
			t.Errorf("percent(%v) is %s, want %s", share, got, want)
		}
	}
}

// Paths are URIs, and no message contains a link.
func TestSARIFEscapes(t *testing.T) {
	for path, want := range map[string]string{
		"deploy.yaml": "deploy.yaml", "../a b/é.yaml": "../a%20b/%C3%A9.yaml", "c:d.yaml": "./c:d.yaml", "/abs/x.yaml": "file:///abs/x.yaml", "a#b?.yaml": "a%23b%3F.yaml",
	} {
		data, err := (&findings.Findings{Results: []findings.Result{{Message: "[a](http://b) {c: }", Source: &manifest.Place{File: path}}}}).SARIF()
		if err != nil {
			t.Fatal(err)
		}
		var log struct {
			Runs []struct {
				Results []struct {
					Message   struct{ Text string }
					Locations []struct {
						PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
					}
				}
			}
		}
		if err := json.Unmarshal(data, &log); err != nil {
			t.Fatal(err)
		}
		result := log.Runs[0].Results[0]
		if got := result.Locations[0].PhysicalLocation.ArtifactLocation.URI; got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
		if result.Message.Text != `[a\](http://b) {c: }` {
			t.Error(result.Message.Text)
		}
	}
}
