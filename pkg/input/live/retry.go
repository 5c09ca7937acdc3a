package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retryTransport sends a request again if a busy server has refused it. client-go itself does so only if the server says when, and some servers do
// not.
type retryTransport struct {
	http.RoundTripper
	sleep func(context.Context, time.Duration) error
}

// attemptsByStatus is how often to send a request that gets an answer with this status. An API group whose own server is down answers 503 until the
// server is up again, and the client may not need the group; so 503 gets few attempts.
var attemptsByStatus = map[int]int{http.StatusTooManyRequests: 10, http.StatusServiceUnavailable: 3}

// firstWait is how long to wait after the first attempt if the server does not say so: 0.25 s, then twice as long each time, up to
// longestWait. 10 attempts take 45 s.
const firstWait, longestWait = 250 * time.Millisecond, 10 * time.Second

// RoundTrip implements http.RoundTripper.
func (p *retryTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	wait := firstWait
	for n := 1; ; n++ {
		response, err := p.RoundTripper.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		most := attemptsByStatus[response.StatusCode]
		if n >= most {
			return finalAnswer(response, n)
		}
		after, told := retryAfter(response)
		if !told {
			after, wait = wait, min(2*wait, longestWait)
		}
		if deadline, bounded := request.Context().Deadline(); bounded && time.Until(deadline) < after {
			return nil, newBusyError(response, n, after)
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxBodyBytes)) // so that the connection can be reused
		_ = response.Body.Close()                                               // this response is not the final answer
		if err := p.sleep(request.Context(), after); err != nil {
			return nil, err
		}
	}
}

// WrappedRoundTripper returns the transport with which client-go cancels a request that takes too long. Without this method, client-go
// warns on standard error.
func (p *retryTransport) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }

// finalAnswer returns the answer to the last attempt. A web page, or too many requests, is an error.
func finalAnswer(response *http.Response, attempts int) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case kind == "text/html":
		return nil, &pageError{status: response.Status, kind: kind, text: firstWords(readBody(response))}
	case response.StatusCode == http.StatusTooManyRequests:
		return nil, newBusyError(response, attempts, 0)
	}
	response.Header.Del("Retry-After") // otherwise client-go would wait once more
	return response, nil
}

// retryAfter returns how long the server asks to wait, and false if it does not.
func retryAfter(response *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// sleep waits for the duration. It returns earlier, with an error, if the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// busyError is the error of a server with too many requests.
type busyError struct {
	status, said string
	attempts     int
	after        time.Duration // the wait that the server asks for, if there is no time for it; 0 after the last attempt
}

func newBusyError(response *http.Response, attempts int, after time.Duration) *busyError {
	text := readBody(response)
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		text = []byte(status.Message)
	}
	return &busyError{status: response.Status, said: firstWords(text), attempts: attempts, after: after}
}

// Error says how the server answered, and what to do.
func (b *busyError) Error() string {
	said := cmp.Or(b.said, "nothing more")
	if b.after == 0 {
		return fmt.Sprintf("has too many requests, and had them for each of %d attempts; try again later (it says: %s)", b.attempts, said)
	}
	return fmt.Sprintf("answers %s and asks to wait %s, which is longer than the request may take; give it more time with --request-timeout (it says: %s)", b.status, b.after, said)
}

// pageError is the error for a web page of a proxy or a login, in place of an answer of an API server.
type pageError struct{ status, kind, text string }

// Error shows the page's beginning.
func (p *pageError) Error() string {
	return fmt.Sprintf("answers with a page, as no API server does: %s, %s, %q; log in where it says so, or give the address of an API server", p.status, p.kind, p.text)
}

// maxBodyBytes is how many bytes of a page or a message are read, and [maxShownText] how many of them are shown.
const maxBodyBytes, maxShownText = 64 << 10, 120

// readBody returns the beginning of the response's body, and closes it.
func readBody(response *http.Response) []byte {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxBodyBytes)) // after an error, the part that was read is shown
	_ = response.Body.Close()
	return text
}

var htmlMarkup = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<!--.*?-->|<[^>]*>`)

// firstWords returns the first words of a page or a message, without markup.
func firstWords(text []byte) string {
	text = htmlMarkup.ReplaceAll(bytes.ToValidUTF8(text, nil), []byte(" "))
	shown := ""
	for _, word := range strings.Fields(html.UnescapeString(string(text))) {
		if shown != "" && len(shown)+len(word) > maxShownText {
			return shown + " …"
		}
		shown = strings.TrimSpace(shown + " " + word)
	}
	return strings.ToValidUTF8(shown[:min(len(shown), 2*maxShownText)], "")
}
