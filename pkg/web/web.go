// Package web serves the playground's page and the engine that answers it: from this machine, or as files for any web host, with the engine
// among them. The folder shared has the scripts of this page and of the page of reports. build.mjs bundles them with the folder page into
// bundle, and with the folder report into the bundle of pkg/report/format/page.
package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
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
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/web/line"
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

// maxWaiting is the number of requests that may wait for a turn. keptAnswers is the number of bytes of answers that are kept for whoever asks
// the same.
const (
	maxWaiting  = 1024
	keptAnswers = 128 << 20
)

// maxSmall and maxLarge are the bytes of requests that may be in memory. A request of more than smallBody waits, unread, until there is room
// among the large ones, so that large requests never delay small ones. maxAnswers is the same for answers that are being sent.
const (
	smallBody  = 1 << 20
	maxSmall   = 128 << 20
	maxLarge   = 128 << 20
	maxAnswers = 512 << 20
)

// retrySeconds is the time after which a client may send again what was refused because too much waits.
const retrySeconds = 5

// readTimeout is the time in which a request must arrive, and in which it waits for room. writeTimeout is the time in which a client must
// receive each portion of an answer.
const (
	readTimeout  = time.Minute
	writeTimeout = 10 * time.Second
	portionSize  = 256 << 10
)

// Computer answers the requests that need a turn, as [playground.Engine.Answer] does.
type Computer interface {
	Answer(ctx context.Context, method string, request []byte) []byte
}

// Server serves the page's files, and answers its requests.
type Server struct {
	// Class counts the answers of a class, if it is set; the engine's field of that name makes the page send them.
	Class *Class

	engine       *playground.Engine
	computer     Computer
	hosts        Hosts
	line         *line.Line
	small, large *semaphore.Weighted // bytes of requests in memory
	answers      *semaphore.Weighted // bytes of answers in memory
}

// New returns a server of the page. The engine answers the requests that need no turn, and the computer the others, as many at a time as it
// has turns. If it has several, it has one more for clients that have none.
func New(engine *playground.Engine, computer Computer, turns int, hosts Hosts) *Server {
	return &Server{
		engine: engine, computer: computer, hosts: hosts, line: line.New(turns, min(turns-1, 1), maxWaiting, keptAnswers),
		small: semaphore.NewWeighted(maxSmall), large: semaphore.NewWeighted(maxLarge), answers: semaphore.NewWeighted(maxAnswers),
	}
}

// Serve accepts connections on the listener until the context ends. Then it also ends the requests in progress, after at most two seconds.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
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
	if !s.hosts.Has(r.Host) {
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
	case s.Class != nil && r.URL.Path == "/class":
		s.Class.serve(w, r)
	default:
		s.serveFile(w, r)
	}
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
	case !playground.IsMethod(method) && !(s.Class != nil && method == tallyMethod):
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
	body, release, ok := s.readBody(w, r)
	if !ok {
		return
	}
	if method == tallyMethod {
		err := s.Class.count(body)
		release()
		if err != nil {
			refuse(w, r, http.StatusBadRequest, playground.KindInput, "%s", err)
			return
		}
		s.send(w, r, []byte("{}\n"))
		return
	}
	if playground.NeedsNoTurn(method) {
		answer := s.engine.Answer(r.Context(), method, body)
		release()
		s.send(w, r, answer)
		return
	}
	wait := &waitingAnswer{w: w, r: r}
	key := line.Key(sha256.Sum256(slices.Concat([]byte(method), []byte{0}, body)))
	answer, err := s.line.Ask(r.Context(), clientOf(r), key, func(ctx context.Context) ([]byte, bool) {
		answer := s.computer.Answer(ctx, method, body)
		return answer, !playground.IsRefusal(answer)
	}, wait.tellPlace)
	release()
	switch {
	case errors.Is(err, line.ErrFull) && wait.told:
		writeAnswer(w, playground.Refuse(&playground.Error{Kind: playground.KindBusy, Message: fullMessage}))
	case errors.Is(err, line.ErrFull):
		refuseForNow(w, r, "%s", fullMessage)
	case err == nil:
		s.send(w, r, answer)
	}
}

var fullMessage = fmt.Sprintf("%d requests wait already; try again", maxWaiting)

// clientOf returns the client of a request, to which the line is fair: its address. A host often has all addresses of an IPv6 network.
func clientOf(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if address = address.Unmap(); address.Is6() {
		network, _ := address.WithZone("").Prefix(64)
		return network.String()
	}
	return address.String()
}

// places is the media type of an answer that says before where in the line the request is, a JSON object on each line.
const places = "application/x-ndjson"

// waitingAnswer tells the client its place in the line, if it asks for that.
type waitingAnswer struct {
	w    http.ResponseWriter
	r    *http.Request
	told bool // the answer has begun
}

func (a *waitingAnswer) tellPlace(place int) {
	if a.r.Header.Get("Accept") != places {
		return
	}
	if !a.told {
		a.told = true
		a.w.Header().Set("Content-Type", places)
	}
	writeAnswer(a.w, fmt.Appendf(nil, `{"place":%d}`+"\n", place))
	_ = http.NewResponseController(a.w).Flush() // the recorder in tests does not support it
}

// readBody reads the request before it waits for its turn, so that a slow client delays nobody. A large request first waits until there is
// room for it. The bytes count as held until release is called. If the request cannot be read, readBody sends the error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), ok bool) {
	limit := int64(s.engine.Limits.Bytes)
	if limit > 0 {
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	held := &heldBody{from: r.Body, room: s.small}
	var read bytes.Buffer
	if size := r.ContentLength; size < 0 || size > smallBody {
		if size < 0 || limit > 0 && size > limit { // the size is not known, or the error comes while it is read
			size = cmp.Or(limit, maxLarge)
		}
		held.room, held.size, held.whole = s.large, min(size, maxLarge), true
		waits, stop := context.WithTimeout(r.Context(), readTimeout)
		defer stop()
		if err := s.large.Acquire(waits, held.size); err != nil {
			refuseForNow(w, r, "large requests of %d MiB wait already, as many as the page takes at a time; try again", maxLarge>>20)
			return nil, nil, false
		}
		if r.ContentLength > 0 {
			read.Grow(int(size) + bytes.MinRead)
		}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)) // the recorder in tests does not support it
	_, err := read.ReadFrom(held)
	tooLarge := (*http.MaxBytesError)(nil)
	switch {
	case err == nil:
		return read.Bytes(), held.release, true
	case errors.As(err, &tooLarge):
		refuse(w, r, http.StatusRequestEntityTooLarge, playground.KindLimit, "the files have more than %d MiB, which the page takes; use the command line", limit>>20)
	case errors.Is(err, errNoRoom):
		refuseForNow(w, r, "requests of %d MiB wait already, as many as the page takes at a time; try again", maxSmall>>20)
	} // otherwise the client is gone
	held.release()
	return nil, nil, false
}

var errNoRoom = errors.New("no room for the request")

// heldBody is the body of a request whose bytes count as held.
type heldBody struct {
	from  io.Reader
	room  *semaphore.Weighted
	size  int64 // bytes held
	whole bool  // all of it is held from the beginning
}

func (h *heldBody) Read(into []byte) (int, error) {
	n, err := h.from.Read(into)
	if !h.whole && n > 0 {
		if !h.room.TryAcquire(int64(n)) {
			return 0, errNoRoom
		}
		h.size += int64(n)
	}
	return n, err
}

func (h *heldBody) release() {
	h.room.Release(h.size)
	if h.whole {
		go debug.FreeOSMemory() // otherwise the memory of a large request stays with the program for minutes
	}
}

// send sends the answer, if there is room for it among those that are being sent.
func (s *Server) send(w http.ResponseWriter, r *http.Request, answer []byte) {
	size := min(int64(len(answer)), maxAnswers)
	if !s.answers.TryAcquire(size) {
		refuseForNow(w, r, "answers of %d MiB, which is as much as the page sends at a time, wait already; try again", maxAnswers>>20)
		return
	}
	defer s.answers.Release(size)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	writeAnswer(w, answer)
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

// refuseForNow refuses a request that may be sent again soon.
func refuseForNow(w http.ResponseWriter, r *http.Request, format string, args ...any) {
	w.Header().Set("Retry-After", strconv.Itoa(retrySeconds))
	refuse(w, r, http.StatusServiceUnavailable, playground.KindBusy, format, args...)
}

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
