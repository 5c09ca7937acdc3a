package app

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// began is when the program started, and quiet how long it shows nothing then: most questions are answered sooner.
var began = time.Now()

const quiet = 500 * time.Millisecond

// working is what the bar says until it is known what is counted.
const working = "working"

// progress is a progress bar on standard error for work that takes longer than a moment. It shows nothing without a terminal. It appears by
// itself if the work does not say for a while how far it is.
type progress struct {
	out   io.Writer
	shown bool
	unit  string // what is counted

	mu    sync.Mutex
	timer *time.Timer
	bar   *progressbar.ProgressBar
	step  string
}

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, shown: isTerminal(out), unit: "pods"}
	if p.shown {
		p.timer = time.AfterFunc(time.Until(began.Add(quiet)), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.bar == nil && p.shown {
				p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(working), progressbar.OptionClearOnFinish())
				p.step = working
				_ = p.bar.RenderBlank()
			}
		})
	}
	return p
}

// update shows how far the step is. The total is -1 if it is not known.
func (p *progress) update(step string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown || time.Since(began) < quiet {
		return
	}
	if p.bar == nil || p.step == working || total != p.bar.GetMax() {
		p.clear()
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(manifest.Clean(step)),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(p.unit),
			progressbar.OptionSetWidth(30),
			progressbar.OptionClearOnFinish())
		p.step = step
	}
	if step != p.step {
		p.step = step
		p.bar.Describe(manifest.Clean(step))
	}
	_ = p.bar.Set(done) // not being able to draw the bar is no reason to fail
}

// done removes the bar.
func (p *progress) done() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.shown = false
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
