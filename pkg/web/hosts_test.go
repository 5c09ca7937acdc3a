package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/web"
)

func TestHostsOf(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]web.Hosts{
		"": {"localhost", strings.ToLower(own)}, "0.0.0.0": {"localhost", strings.ToLower(own)}, "::": {"localhost", strings.ToLower(own)},
		"127.0.0.1": {"localhost", "127.0.0.1"}, "Laptop.example": {"localhost", "laptop.example"},
	} {
		if diff := cmp.Diff(want, web.HostsOf(host)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", host, diff)
		}
	}
}

// The metrics are served to clients that ask for an address, a name of the server, or a Service, and to no other.
func TestServiceHosts(t *testing.T) {
	handler := web.Hosts{"localhost"}.CheckService(http.NotFoundHandler())
	for host, want := range map[string]int{
		"127.0.0.1:9464": 404, "[::1]:9464": 404, "10.1.2.3": 404, "localhost:9464": 404, "LOCALHOST": 404,
		"faultline.monitoring.svc:9464": 404, "faultline.monitoring.svc.cluster.local": 404,
		"rebound.example:9464": 403, "svc": 403, "svc.rebound.example": 403, "localhost.rebound.example": 403, "": 403,
	} {
		recorder := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = host
		if handler.ServeHTTP(recorder, r); recorder.Code != want {
			t.Errorf("%q: %d, want %d", host, recorder.Code, want)
		}
	}
}
