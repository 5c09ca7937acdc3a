package report

import (
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

func TestBlastSARIFIsValid(t *testing.T) {
	schema := reporttest.SARIF(t)
	for name, r := range renderedBlasts(t) {
		if err := reporttest.Validate(t, schema, writeBlast(t, r, "sarif", Options{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
