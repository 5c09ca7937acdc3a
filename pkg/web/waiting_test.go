package web_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/faultline/faultline/pkg/internal/browsertest"
)

// A page that has to wait says where in the line it is. What is refused for now is asked again, by the page itself, and is no problem of the
// scenario.
func TestPageWaits(t *testing.T) {
	release := make(chan struct{})
	var runs atomic.Int32
	address := startServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/run" {
				h.ServeHTTP(w, r)
				return
			}
			body, err := io.ReadAll(r.Body) // it cannot be read after the answer has begun
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			switch runs.Add(1) {
			case 1:
				w.Header().Set("Retry-After", "1") // with the status 503 the browser would note an error
				_, _ = fmt.Fprint(w, `{"error":{"kind":"busy","message":"1024 requests wait already; try again"}}`)
			case 2:
				w.Header().Set("Content-Type", "application/x-ndjson")
				fmt.Fprintln(w, `{"place":7}`)
				_ = http.NewResponseController(w).Flush()
				<-release
				h.ServeHTTP(w, r)
			default:
				t.Error("the run is asked for a third time")
			}
		})
	})
	r := openPage(t, browsertest.Start(t), address, linkTo(t, "test", smallScenario(t), map[string]any{}))
	r.WaitForText("#notice", "7th in line: the engine answers others first.")
	if problems := browsertest.Evaluate[string](r.Browser, `document.getElementById("problems").textContent`); problems != "" {
		t.Errorf("problems of the scenario: %s", problems)
	}
	close(release)
	r.WaitForText("#verdict", "All 3 pods run.")
	r.WaitUntil(`document.getElementById("notice").hidden`)
}

// The answer to an edit before a step was added is shown at the step in view, and that to the edit that added a step at the new one.
func TestAddedStepIsShownAfterAnOlderAnswer(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	var runs atomic.Int32
	address := startServer(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/run" {
				switch runs.Add(1) {
				case 1:
					time.Sleep(time.Second) // the page then waits half a second after an edit before it asks
				case 2:
					close(asked)
					<-release
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	r := openPage(t, browsertest.Start(t), address, "/#example=own-lesson")
	r.WaitForText("#builder", "Step 1 of 1", "The run answers: zone-1 1, zone-2 1, zone-3 1.")
	r.choose(`#builder [data-focus="built steps.0.apply.objects.0.metadata.name"]`, "shop")
	<-asked
	r.Click(`#builder [data-focus="add step"]`)
	close(release)
	r.WaitForText("#map", "deployment/shop")
	r.WaitForText("#builder", "Step 2 of 2")
}
