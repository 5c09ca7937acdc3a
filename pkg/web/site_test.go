//go:build site

package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/faultline/faultline/pkg/web"
)

// The page and its engine work as files that any file server serves.
func TestSite(t *testing.T) {
	folder := t.TempDir()
	if _, err := web.WriteSite(folder, "../../bin/engine"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	runPlaygroundChecks(t, server.URL)
}
