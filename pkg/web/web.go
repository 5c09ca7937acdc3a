// Package web serves the playground's page and the engine that answers it: from this machine, or as files for any web host, with the engine
// among them. The folder shared has the scripts of this page and of the page of reports. build.mjs bundles them with the folder page into
// bundle, and with the folder report into the bundle of pkg/report/format/page.
package web

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/faultline/faultline/pkg/playground"
)

//go:embed page/index.html bundle
var assets embed.FS

// read returns a file of the page.
func read(name string) []byte {
	folder := "bundle/"
	if name == "index.html" {
		folder = "page/"
	}
	data, err := assets.ReadFile(folder + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return data
}

// pagePolicy allows the page its own script and style, requests to its origin, and pictures that it draws.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maxWaiting is the number of requests that may wait for the engine, which answers one at a time. maxHeld is the number of bytes of
// requests and answers that may be in memory.
const (
	maxWaiting = 16
	maxHeld    = 1 << 30
)

// writeTimeout is the time in which a client must receive each portion of an answer.
const (
	writeTimeout = 10 * time.Second
	portionSize  = 256 << 10
)

// Server serves the page's files, and answers its requests with the engine.
type Server struct {
	engine    *playground.Engine
	names     []string
	turns     chan struct{}
	heldBytes atomic.Int64 // bytes of requests and answers in memory
}

// New returns a server of the page. Clients may address it by any IP address and by these names. It refuses all other names, since a page
// of somebody else could reach it by a name that resolves to this machine (DNS rebinding).
func New(engine *playground.Engine, names ...string) *Server {
	return &Server{engine: engine, names: names, turns: make(chan struct{}, maxWaiting)}
}

// Serve accepts connections on the listener until the context ends. Then it also ends the requests in progress, after at most two seconds.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	rest, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	if err := server.Shutdown(rest); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}

// ServeHTTP serves the page's files and the methods of the engine at /api/METHOD.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if !s.isKnownHost(r.Host) {
		refuse(w, r, http.StatusForbidden, playground.KindInput, "the page is not served as %q; open the address that simulate serve printed", r.Host)
		return
	}
	method, isCall := strings.CutPrefix(r.URL.Path, "/api/")
	switch {
	case isCall:
		s.serveMethod(w, r, method)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		refuse(w, r, http.StatusMethodNotAllowed, playground.KindInput, "%s is not for files; use GET", r.Method)
	default:
		s.serveFile(w, r)
	}
}

// isKnownHost reports whether clients may address the server by the host of a request.
func (s *Server) isKnownHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	_, err = netip.ParseAddr(strings.Replace(name, "%25", "%", 1)) // an IPv6 address may have a zone
	return err == nil || slices.Contains(s.names, strings.ToLower(name))
}

// servedFiles maps paths to the page's files and their types.
var servedFiles = map[string]struct{ name, kind string }{
	"/":               {"index.html", "text/html; charset=utf-8"},
	"/playground.js":  {"playground.js", "text/javascript; charset=utf-8"},
	"/playground.css": {"playground.css", "text/css; charset=utf-8"},
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	file, found := servedFiles[r.URL.Path]
	if !found {
		refuse(w, r, http.StatusNotFound, playground.KindInput, "there is no %s", r.URL.Path)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	writeAnswer(w, read(file.name))
}

func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request, method string) {
	switch {
	case !playground.IsMethod(method):
		refuse(w, r, http.StatusNotFound, playground.KindInput, "there is no method %q", method)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		refuse(w, r, http.StatusMethodNotAllowed, playground.KindInput, "%s is not for methods; use POST", r.Method)
		return
	case !ownOrigin(r):
		refuse(w, r, http.StatusForbidden, playground.KindInput, "%s", strings.TrimSuffix("the request comes from another page, "+r.Header.Get("Origin"), ", "))
		return
	case !isJSON(r.Header.Get("Content-Type")): // a foreign page cannot send JSON without a preflight request
		refuse(w, r, http.StatusUnsupportedMediaType, playground.KindInput, "the request is %q; send application/json", r.Header.Get("Content-Type"))
		return
	case !slices.Contains([]string{"", "identity"}, r.Header.Get("Content-Encoding")):
		refuse(w, r, http.StatusUnsupportedMediaType, playground.KindInput, "the request is packed by %q; send it as it is", r.Header.Get("Content-Encoding"))
		return
	}
	body, ok := s.readBody(w, r)
	defer s.heldBytes.Add(-int64(len(body)))
	if !ok {
		return
	}
	answer, ok := s.answerInTurn(r.Context(), method, body)
	defer s.heldBytes.Add(-int64(len(answer)))
	if !ok || s.heldBytes.Add(int64(len(answer))) > maxHeld {
		refuse(w, r, http.StatusTooManyRequests, playground.KindLimit, "%d requests wait already; try again", maxWaiting)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	writeAnswer(w, answer)
}

// readBody reads the request before it takes a turn, so that a slow client delays nobody. The bytes count as held until the caller releases
// them. If the request cannot be read, body sends the error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	limit := int64(s.engine.Limits.Bytes)
	if limit > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	var read bytes.Buffer
	for {
		n, err := io.CopyN(&read, r.Body, portionSize)
		held := s.heldBytes.Add(n)
		tooLarge := (*http.MaxBytesError)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return read.Bytes(), true
		case errors.As(err, &tooLarge):
			refuse(w, r, http.StatusRequestEntityTooLarge, playground.KindLimit, "the files have more than %d MiB, which the page takes; use the command line", limit>>20)
			return read.Bytes(), false
		case err != nil: // the client is gone
			return read.Bytes(), false
		case held > maxHeld:
			refuse(w, r, http.StatusTooManyRequests, playground.KindLimit, "requests of %d MiB wait already; try again", maxHeld>>20)
			return read.Bytes(), false
		}
	}
}

// answerInTurn waits for a turn and computes the answer. It gives up the turn before the answer is written. It returns false if too many requests
// wait.
func (s *Server) answerInTurn(ctx context.Context, method string, body []byte) (answer []byte, ok bool) {
	if playground.NeedsNoTurn(method) {
		return s.engine.Answer(ctx, method, body), true
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
		return s.engine.Answer(ctx, method, body), true
	default:
		return nil, false
	}
}

// writeAnswer sends an answer as long as the client receives it. It ignores errors, since the client may be gone.
func writeAnswer(w http.ResponseWriter, answer []byte) {
	control := http.NewResponseController(w)
	for part := range slices.Chunk(answer, portionSize) {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // the recorder in tests does not support it
		if _, err := w.Write(part); err != nil {
			return
		}
	}
	_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // for buffered data
}

// isJSON reports whether the content type of a request is JSON in UTF-8.
func isJSON(kind string) bool {
	media, parameters, err := mime.ParseMediaType(kind)
	return err == nil && media == "application/json" && (parameters["charset"] == "" || strings.EqualFold(parameters["charset"], "utf-8"))
}

// ownOrigin reports whether the request comes from the page itself, or from a program other than a browser.
func ownOrigin(r *http.Request) bool {
	given := r.Header.Get("Origin")
	if given == "" {
		return r.Header.Get("Sec-Fetch-Site") == "" || r.Header.Get("Sec-Fetch-Site") == "same-origin"
	}
	origin, err := url.Parse(given)
	return err == nil && origin.Host == strings.Replace(r.Host, "%25", "%", 1) // Host has the zone of an IPv6 address escaped
}

// refusalPage is the page that a browser shows for a request that is refused.
const refusalPage = `<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Faultline playground</title>
<h1>%s</h1><p>%s.</p></html>
`

// refuse answers a browser that opens an address with a page, and a request of the page with JSON.
func refuse(w http.ResponseWriter, r *http.Request, status int, kind, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		writeAnswer(w, fmt.Appendf(nil, refusalPage, http.StatusText(status), html.EscapeString(strings.ToUpper(message[:1])+message[1:])))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body, _ := json.Marshal(playground.Failure{Error: &playground.Error{Kind: kind, Message: message}}) // strings always have a JSON encoding
	writeAnswer(w, append(body, '\n'))
}
