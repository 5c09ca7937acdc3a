package blast

import (
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
	"github.com/faultline/faultline/pkg/report"
)

func TestBlastSARIFIsValid(t *testing.T) {
	schema := reporttest.SARIF(t)
	for name, r := range renderedBlasts(t) {
		if err := reporttest.Validate(t, schema, writeBlast(t, r, "sarif", report.Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
