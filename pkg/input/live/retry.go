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

// patient sends a request again that a busy server has refused. client-go does so only if the server says when, and some servers do not.
type patient struct {
	http.RoundTripper
	sleep func(context.Context, time.Duration) error
}

// attempts is how often a request is sent that is answered with a status. A group of an API whose own server is down answers 503 for as long
// as it is down, and need not be read; so few are enough.
var attempts = map[int]int{http.StatusTooManyRequests: 10, http.StatusServiceUnavailable: 3}

// firstWait and longestWait are how long to wait if the server does not say so: 0.25 s, then twice as long each time, in all 45 s for 10
// attempts.
const firstWait, longestWait = 250 * time.Millisecond, 10 * time.Second

// RoundTrip implements http.RoundTripper.
func (p *patient) RoundTrip(request *http.Request) (*http.Response, error) {
	wait := firstWait
	for n := 1; ; n++ {
		response, err := p.RoundTripper.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		most := attempts[response.StatusCode]
		if n >= most {
			return last(response, n)
		}
		after, told := retryAfter(response)
		if !told {
			after, wait = wait, min(2*wait, longestWait)
		}
		if deadline, bounded := request.Context().Deadline(); bounded && time.Until(deadline) < after {
			return nil, busyOf(response, n, after)
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, mostWords)) // so that the connection can be used again
		_ = response.Body.Close()                                            // it is not the answer
		if err := p.sleep(request.Context(), after); err != nil {
			return nil, err
		}
	}
}

// WrappedRoundTripper is what client-go cancels a request by that takes too long. Without it, client-go warns on standard error.
func (p *patient) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }

// last returns the answer to the last attempt, or the error that it stands for.
func last(response *http.Response, attempts int) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case kind == "text/html":
		return nil, &page{status: response.Status, kind: kind, text: firstWords(read(response))}
	case response.StatusCode == http.StatusTooManyRequests:
		return nil, busyOf(response, attempts, 0)
	}
	response.Header.Del("Retry-After") // which client-go would obey once more
	return response, nil
}

// retryAfter is how long the server asks to wait.
func retryAfter(response *http.Response) (time.Duration, bool) {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// busy says that a server has too much to do.
type busy struct {
	status, said string
	attempts     int
	after        time.Duration // longer than there is time; 0 if it was tried often enough
}

func busyOf(response *http.Response, attempts int, after time.Duration) *busy {
	text := read(response)
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		text = []byte(status.Message)
	}
	return &busy{status: response.Status, said: firstWords(text), attempts: attempts, after: after}
}

// Error says what the server says, and what to do.
func (b *busy) Error() string {
	said := cmp.Or(b.said, "nothing more")
	if b.after == 0 {
		return fmt.Sprintf("has too many requests, and had them for each of %d attempts; try again later (it says: %s)", b.attempts, said)
	}
	return fmt.Sprintf("answers %s and asks to wait %s, which is longer than the request may take; give it more time with --request-timeout (it says: %s)", b.status, b.after, said)
}

// page is what a proxy or a login answers in place of an API server.
type page struct{ status, kind, text string }

// Error shows the page's beginning.
func (p *page) Error() string {
	return fmt.Sprintf("answers with a page, as no API server does: %s, %s, %q; log in where it says so, or give the address of an API server", p.status, p.kind, p.text)
}

// mostWords is how much of a page or a message is read, in bytes, and longestText how much of it is shown.
const mostWords, longestText = 64 << 10, 120

// read reads the beginning of an answer, and closes it.
func read(response *http.Response) []byte {
	text, _ := io.ReadAll(io.LimitReader(response.Body, mostWords)) // what can be read is shown
	_ = response.Body.Close()
	return text
}

var unseen = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>|<!--.*?-->|<[^>]*>`)

// firstWords returns the beginning of a page or a message, without its tags.
func firstWords(text []byte) string {
	text = unseen.ReplaceAll(bytes.ToValidUTF8(text, nil), []byte(" "))
	shown := ""
	for _, word := range strings.Fields(html.UnescapeString(string(text))) {
		if shown != "" && len(shown)+len(word) > longestText {
			return shown + " …"
		}
		shown = strings.TrimSpace(shown + " " + word)
	}
	return strings.ToValidUTF8(shown[:min(len(shown), 2*longestText)], "")
}
