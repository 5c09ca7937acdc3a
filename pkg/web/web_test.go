package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/web"
)

func newServer() *web.Server {
	engine := playground.New("test")
	engine.Limits = playground.Limits{Bytes: 1 << 20}
	return web.New(engine, engine, 1, web.Hosts{"localhost"})
}

// request returns a request as the page sends it, with other headers if given.
func request(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://127.0.0.1:8080")
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	return r
}

func TestServer(t *testing.T) {
	for _, test := range []struct {
		name    string
		request *http.Request
		status  int
		want    string // that the body has
	}{
		{"page", request("GET", "/", ""), 200, "<!DOCTYPE html>"},
		{"method", request("POST", "/api/load", "{}"), 200, `"scheduler":"v1.37.1"`},
		{"localhost", request("POST", "/api/load", "{}", "Host", "localhost:8080", "Origin", "http://localhost:8080"), 200, `"scheduler"`},
		{"IPv6", request("POST", "/api/load", "{}", "Host", "[::1]:8080", "Origin", "http://[::1]:8080"), 200, `"scheduler"`},
		{"a name that was made to stand for this machine", request("GET", "/", "", "Host", "rebound.example:8080"), 403, `the page is not served as \"rebound.example:8080\"`},
		{"another page", request("POST", "/api/load", "{}", "Origin", "http://evil.example"), 403, "the request comes from another page, http://evil.example"},
		{"another port", request("POST", "/api/load", "{}", "Origin", "http://127.0.0.1:9090"), 403, "another page"},
		{"a page without an origin", request("POST", "/api/load", "{}", "Origin", "null"), 403, "another page"},
		{"a form", request("POST", "/api/load", "{}", "Content-Type", "text/plain"), 415, "send application/json"},
		{"a link", request("GET", "/api/load", ""), 405, "GET is not for methods; use POST"},
		{"no method", request("POST", "/api/shell", "{}"), 404, `there is no method \"shell\"`},
		{"no file", request("GET", "/../../etc/passwd", ""), 404, "there is no /../../etc/passwd"},
		{"writing", request("PUT", "/", "x"), 405, "PUT is not for files"},
		{"large", request("POST", "/api/run", strings.Repeat("x", 1<<20+1)), 413, "the files have more than 1 MiB"},
		{"with its charset", request("POST", "/api/load", "{}", "Content-Type", "application/json; charset=utf-8"), 200, `"scheduler"`},
		{"another charset", request("POST", "/api/load", "{}", "Content-Type", "application/json; charset=latin1"), 415, "send application/json"},
		{"packed", request("POST", "/api/load", "\x1f\x8b", "Content-Encoding", "gzip"), 415, `packed by \"gzip\"; send it as it is`},
		{"two objects", request("POST", "/api/load", "{}{}"), 200, "the request goes on after its first object"},
		{"a list", request("POST", "/api/run", "[]"), 200, "the request is not what the method takes: a list where an object is wanted"},
		{"a number", request("POST", "/api/run", `{"input": {"files": {"a": 1}}}`), 200, "a number where a string is wanted"},
		{"nothing", request("POST", "/api/run", ""), 200, "the method takes: nothing is in it"},
		{"the address of a link", request("POST", "/api/load", "{}", "Host", "[fe80::1%25eth0]:8080", "Origin", "http://[fe80::1%25eth0]:8080"), 200, `"scheduler"`},
		{"the address of a link by its zone", request("GET", "/", "", "Host", "[fe80::1%eth0]:8080"), 200, "<!DOCTYPE html>"},
		{"another site without an origin", request("POST", "/api/load", "{}", "Origin", "", "Sec-Fetch-Site", "cross-site"), 403, `"the request comes from another page"`},
		{"no JSON", request("POST", "/api/run", "<script>"), 200, `the request is not what the method takes`},
	} {
		t.Run(test.name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			newServer().ServeHTTP(recorder, test.request)
			if recorder.Code != test.status || !strings.Contains(recorder.Body.String(), test.want) {
				t.Errorf("%d %s\nwant %d with %s", recorder.Code, recorder.Body, test.status, test.want)
			}
			if policy := recorder.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("Content-Security-Policy: %s", policy)
			}
			if allow := recorder.Header().Get("Allow"); (recorder.Code == 405) != (allow != "") {
				t.Errorf("%d, Allow: %q", recorder.Code, allow)
			}
			if recorder.Code != 200 {
				var failure playground.Failure
				if err := json.Unmarshal(recorder.Body.Bytes(), &failure); err != nil || failure.Error == nil {
					t.Errorf("no error in the body: %v", err)
				}
			}
		})
	}
}

// A browser that opens a wrong address shows a page, in which nothing of the address is HTML.
func TestRefusalIsAPage(t *testing.T) {
	for _, test := range []struct{ path, host, want string }{
		{"/", "rebound.example:8080", `<p>The page is not served as &#34;rebound.example:8080&#34;; open the address that simulate serve printed.</p>`},
		{"/%3Cscript%3E", "127.0.0.1:8080", "<p>There is no /&lt;script&gt;.</p>"},
		{"/api/load", "127.0.0.1:8080", "<p>GET is not for methods; use POST.</p>"},
	} {
		recorder := httptest.NewRecorder()
		newServer().ServeHTTP(recorder, request("GET", test.path, "", "Host", test.host, "Accept", "text/html,*/*;q=0.8"))
		if kind := recorder.Header().Get("Content-Type"); kind != "text/html; charset=utf-8" || !strings.Contains(recorder.Body.String(), test.want) {
			t.Errorf("%s: %s\n%s\nwant %s", test.path, kind, recorder.Body, test.want)
		}
	}
}

// An engine without limits takes any request.
func TestServerWithoutLimits(t *testing.T) {
	recorder := httptest.NewRecorder()
	engine := playground.New("test")
	web.New(engine, engine, 1, nil).ServeHTTP(recorder, request("POST", "/api/load", "{}"))
	if recorder.Code != 200 {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
}

// stuckConnection is the connection of a client that reads nothing.
type stuckConnection struct {
	http.ResponseWriter
	writes, over chan struct{}
}

func (s stuckConnection) Write([]byte) (int, error) {
	s.writes <- struct{}{}
	<-s.over
	return 0, io.ErrClosedPipe
}

// A client that does not read its answer delays nobody.
func TestUnreadAnswers(t *testing.T) {
	server, writes, over := newServer(), make(chan struct{}), make(chan struct{})
	defer close(over)
	for range 40 {
		go server.ServeHTTP(stuckConnection{httptest.NewRecorder(), writes, over}, request("POST", "/api/run", "{}"))
		<-writes
	}
	recorder := httptest.NewRecorder()
	if server.ServeHTTP(recorder, request("POST", "/api/run", "{}")); recorder.Code != 200 {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
}

// A client that does not send a whole request delays nobody.
func TestSlowConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- newServer().Serve(ctx, listener) }()
	for range 40 {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := io.WriteString(connection, "POST /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	response, err := http.Post("http://"+listener.Addr().String()+"/api/run", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", response.Status, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A server ends with its context, after it has answered the requests that arrived before.
func TestServeEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- newServer().Serve(ctx, listener) }()
	response, err := http.Post("http://"+listener.Addr().String()+"/api/load", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || !json.Valid(body) {
		t.Errorf("%s: %v", body, err)
	}
	stop()
	select {
	case err := <-ended:
		if diff := cmp.Diff(nil, err); diff != "" {
			t.Error(diff)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server goes on")
	}
}
