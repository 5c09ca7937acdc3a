// Package browsertest opens pages in a headless Chromium for tests, which see them as a reader does.
package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a headless Chromium with one page. It records complaints: what the page prints on the console, requests to the network, and
// dialogs.
type Browser struct {
	// Ctx is the context of the page, for calls of chromedp.
	Ctx context.Context

	t      testing.TB
	server string // the address of the server that the page may send requests to

	mu         sync.Mutex
	complaints []string
}

// Start starts a browser. The test fails at its end if a page complained.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("no chromium in PATH; install it: apt-get install chromium")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1440, 1000))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // Chromium refuses to run as root otherwise
	}
	// On a busy machine, Chromium sometimes does not start, which is not the fault of a page.
	for attempt := 1; ; attempt++ {
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
		t.Cleanup(cancel)
		b, err := newTab(t, allocator)
		if err == nil {
			return b
		}
		if attempt == 3 {
			t.Fatal(err)
		}
	}
}

// Tab opens another page, which shares nothing with this one. It may send requests to the same server.
func (b *Browser) Tab() *Browser {
	b.t.Helper()
	other, err := newTab(b.t, b.Ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	other.server = b.server
	return other
}

func newTab(t testing.TB, parent context.Context) (*Browser, error) {
	b := &Browser{t: t}
	var cancel context.CancelFunc
	b.Ctx, cancel = chromedp.NewContext(parent)
	t.Cleanup(cancel)
	if err := chromedp.Listen(b.Ctx, b.recordComplaint); err != nil {
		return nil, err
	}
	if _, err := chromedp.Call(b.Ctx, network.Enable, network.EnableParams{}); err != nil {
		return nil, err
	}
	if _, err := chromedp.Call(b.Ctx, log.Enable, cdp.Empty{}); err != nil {
		return nil, err
	}
	if err := b.setMedia("screen", "light"); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		for _, complaint := range b.TakeComplaints() {
			t.Error(complaint)
		}
	})
	return b, nil
}

func (b *Browser) recordComplaint(event any) {
	complaint := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = "exception: " + event.ExceptionDetails.Text
		if thrown := event.ExceptionDetails.Exception; thrown != nil {
			complaint += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		complaint = fmt.Sprintf("console.%s", event.Type)
		for _, arg := range event.Args {
			complaint += fmt.Sprintf(" %s%s", arg.Value, arg.Description)
		}
	case *log.EventEntryAdded:
		complaint = "log: " + event.Entry.Text
	case *protocol.EventJavascriptDialogOpening:
		complaint = "dialog: " + event.Message
	case *network.EventRequestWillBeSent:
		if of := event.Request.URL; !b.isAllowedRequest(of) {
			complaint = "request: " + of
		}
	}
	if complaint != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = append(b.complaints, complaint)
	}
}

// isAllowedRequest reports whether a request goes to the page itself or to its server.
func (b *Browser) isAllowedRequest(address string) bool {
	for _, own := range []string{"file:", "data:", "blob:"} {
		if strings.HasPrefix(address, own) {
			return true
		}
	}
	return b.server != "" && strings.HasPrefix(address, b.server+"/")
}

// TakeComplaints returns the complaints since the last call.
func (b *Browser) TakeComplaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	heard := b.complaints
	b.complaints = nil
	return heard
}

// Open opens the page of a server, to which it may send requests.
func (b *Browser) Open(server, path string) {
	b.t.Helper()
	if b.server == "" { // the server may end before the browser, which must not send it requests then
		b.t.Cleanup(func() { b.Do(chromedp.Navigate("about:blank")) })
	}
	b.server = server
	b.Do(chromedp.Navigate(server + path))
}

// OpenFile opens the page from a file with this content. The address of the page ends with the fragment.
func (b *Browser) OpenFile(content string, fragment ...string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.Do(chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String() + strings.Join(fragment, "")))
}

// maxWait is far longer than anything on a page takes.
const maxWait = time.Minute

// Do performs actions of a reader.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	// An action waits for its element, and would wait forever on a page without it.
	ctx, cancel := context.WithTimeout(b.Ctx, maxWait)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Click waits for the element, and clicks on it. A page may redraw or move its elements after Chromium has found their position: a click
// that misses the element has no effect and is repeated.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	for end := time.Now().Add(maxWait); time.Now().Before(end); {
		Evaluate[bool](b, fmt.Sprintf(aimScript, selector))
		b.doOnElement(selector, chromedp.Click(chromedp.CSS(selector)))
		for settled := time.Now().Add(time.Second); time.Now().Before(settled); time.Sleep(20 * time.Millisecond) {
			outcome := Evaluate[string](b, `String(window.click)`)
			if outcome == "missed" {
				break
			}
			if outcome != "awaited" { // reached, or the click has led to another page
				return
			}
		}
	}
	b.t.Fatalf("no click reaches %s", selector)
}

// aimScript lets the next click reach only an element with the selector. The result of the click is in window.click.
const aimScript = `(() => {
  window.click = "awaited";
  addEventListener("click", (event) => {
    window.click = event.composedPath().some((element) => element.matches?.(%q)) ? "reached" : "missed";
    if (window.click === "missed") { event.preventDefault(); event.stopImmediatePropagation(); }
  }, {capture: true, once: true});
  return true;
})()`

// Focus waits for the element, and gives it the keyboard focus.
func (b *Browser) Focus(selector string) {
	b.t.Helper()
	b.doOnElement(selector, chromedp.Focus(chromedp.CSS(selector)))
}

// doOnElement performs an action on an element, and repeats it if the page redraws the element meanwhile.
func (b *Browser) doOnElement(selector string, action chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, maxWait)
	defer cancel()
	for {
		err := chromedp.Do(ctx, action)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "Could not find node") {
			b.t.Fatalf("%s: %v", selector, err)
		}
	}
}

// Press presses keys on the element that has the focus.
func (b *Browser) Press(keys string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// Text returns the text of an element as a reader sees it.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	return Evaluate[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// CheckText fails the test if a reader does not see all of the words in the element.
func (b *Browser) CheckText(selector string, words ...string) {
	b.t.Helper()
	text := b.Text(selector)
	for _, want := range words {
		if !strings.Contains(text, want) {
			b.t.Errorf("%s lacks %q:\n%s", selector, want, text)
		}
	}
}

// WaitForText waits until a reader sees all of the words in the element, and ends the test if that does not happen.
func (b *Browser) WaitForText(selector string, words ...string) {
	b.t.Helper()
	for _, want := range words {
		shown := fmt.Sprintf("document.querySelector(%q)?.innerText.includes(%q)", selector, want)
		if !b.waitFor(shown) {
			b.t.Fatalf("%s never shows %q; it shows:\n%s", selector, want, b.Text(selector))
		}
	}
}

// WaitUntil waits until the expression is true, and ends the test if that does not happen.
func (b *Browser) WaitUntil(expression string) {
	b.t.Helper()
	if !b.waitFor(expression) {
		b.t.Fatalf("never true: %s", expression)
	}
}

func (b *Browser) waitFor(expression string) bool {
	b.t.Helper()
	for end := time.Now().Add(maxWait); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if Evaluate[bool](b, "Boolean("+expression+")") {
			return true
		}
	}
	return false
}

// Evaluate returns the value of an expression on the page.
func Evaluate[T any](b *Browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, maxWait)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// Resize sets the size of the page's screen, in pixels.
func (b *Browser) Resize(width, height int64) {
	b.t.Helper()
	if _, err := chromedp.Call(b.Ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}); err != nil {
		b.t.Fatal(err)
	}
}

// SetMedia shows the page on "screen" or in "print", to a reader who prefers "light" or "dark".
func (b *Browser) SetMedia(media, colours string) {
	b.t.Helper()
	if err := b.setMedia(media, colours); err != nil {
		b.t.Fatal(err)
	}
}

// setMedia also asks the page to reduce motion, since a click on a moving element hits only by chance.
func (b *Browser) setMedia(media, colours string) error {
	_, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}, {Name: "prefers-color-scheme", Value: colours},
	}})
	return err
}

// CheckOnScreen fails the test if the upper left part of an element, of that size in pixels, is not on the screen.
func (b *Browser) CheckOnScreen(name, selector string, width, height int) {
	b.t.Helper()
	box := Evaluate[[]float64](b, fmt.Sprintf(`(() => { const box = document.querySelector(%q).getBoundingClientRect(); return [innerWidth - box.left, innerHeight - box.top, box.left, box.top]; })()`, selector))
	if box[0] < float64(width) || box[1] < float64(height) || box[2] < 0 || box[3] < 0 {
		b.t.Errorf("%s: of %s %.0f × %.0f pixels are on the screen, want %d × %d", name, selector, box[0], box[1], width, height)
	}
}
