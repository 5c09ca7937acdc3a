package web

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/web/line"
)

// A server refuses for now what it has no room for, names the limit, and says when to ask again.
func TestNoRoom(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
		fill func(*Server)
		want string
	}{
		{"small requests", 100, func(s *Server) { s.small = semaphore.NewWeighted(99) }, "requests of 128 MiB wait already, as many as the page takes at a time; try again"},
		{"large requests", smallBody + 1, func(s *Server) { s.large = semaphore.NewWeighted(smallBody) }, "large requests of 128 MiB wait already, as many as the page takes at a time; try again"},
		{"answers", 100, func(s *Server) { s.answers = semaphore.NewWeighted(1) }, "answers of 512 MiB, which is as much as the page sends at a time, wait already; try again"},
		{"the line", 100, func(s *Server) { s.line = line.New(0, 0, 0, 0) }, "1024 requests wait already; try again"},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine := playground.New("test")
			server := New(engine, engine, 1, nil)
			ctx, stop := context.WithTimeout(t.Context(), time.Millisecond) // as after the time to wait for room
			defer stop()
			for _, free := range []bool{true, false} {
				if !free {
					test.fill(server)
				}
				r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/api/load", strings.NewReader("{"+strings.Repeat(" ", test.size-2)+"}"))
				if !free && test.name == "large requests" {
					r = r.WithContext(ctx)
				}
				if test.name == "the line" {
					r.URL.Path = "/api/run"
				}
				r.Header.Set("Content-Type", "application/json")
				recorder := httptest.NewRecorder()
				server.ServeHTTP(recorder, r)
				want, retry := http.StatusOK, ""
				if !free {
					want, retry = http.StatusServiceUnavailable, "5"
				}
				if recorder.Code != want || recorder.Header().Get("Retry-After") != retry {
					t.Errorf("free %t: %d, Retry-After %q, %.300s", free, recorder.Code, recorder.Header().Get("Retry-After"), recorder.Body)
				}
				if full := `{"error":{"kind":"busy","message":"` + test.want + `"}}` + "\n"; !free && recorder.Body.String() != full {
					t.Errorf("%s\nwant %s", recorder.Body, full)
				}
			}
		})
	}
}

// heldComputer answers when it is released.
type heldComputer struct{ begun, released chan struct{} }

func (h heldComputer) Answer(context.Context, string, []byte) []byte {
	h.begun <- struct{}{}
	<-h.released
	return []byte(`{"report":{}}` + "\n")
}

// A request that waits hears its place, on a line of its own before the answer, if it accepts that.
func TestPlaceBeforeTheAnswer(t *testing.T) {
	held := heldComputer{make(chan struct{}, 2), make(chan struct{})}
	server := httptest.NewServer(New(playground.New("test"), held, 1, nil))
	defer server.Close()
	ask := func(body, accept string) *http.Response {
		request, err := http.NewRequest(http.MethodPost, server.URL+"/api/run", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", accept)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return &http.Response{Body: http.NoBody}
		}
		return response
	}
	first := make(chan string)
	go func() {
		answer, _ := io.ReadAll(ask("1", "application/json").Body)
		first <- string(answer)
	}()
	<-held.begun
	waits := ask("2", "application/x-ndjson")
	read := bufio.NewReader(waits.Body)
	place, err := read.ReadString('\n')
	if diff := cmp.Diff(`{"place":1}`+"\n", place); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	close(held.released)
	const want = `{"report":{}}` + "\n"
	if diff := cmp.Diff(want, <-first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rest, err := io.ReadAll(read)
	if diff := cmp.Diff(want, strings.TrimPrefix(string(rest), `{"place":0}`+"\n")); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
