package report

import (
	"testing"

	"github.com/faultline/faultline/pkg/internal/reporttest"
)

func golden(t *testing.T, file, got string) { t.Helper(); reporttest.Golden(t, file, got) }
