package output

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

// Progress is a progress bar on standard error for work that takes longer than a moment. It shows nothing without a terminal. It appears by
// itself if the work does not say for a while how far it is.
type Progress struct {
	out   io.Writer
	shown bool

	mu    sync.Mutex
	timer *time.Timer
	bar   *progressbar.ProgressBar
	unit  string // what is counted
	what  string
}

// NewProgress returns a bar on out, which shows itself once the program has been quiet for long, if out is a terminal.
func NewProgress(out io.Writer) *Progress {
	p := &Progress{out: out, shown: isTerminal(out)}
	if p.shown {
		p.timer = time.AfterFunc(time.Until(began.Add(quiet)), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.bar == nil && p.shown {
				p.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription("working"), progressbar.OptionClearOnFinish())
				_ = p.bar.RenderBlank()
			}
		})
	}
	return p
}

// Counts returns a function that shows what is at work, and how many of the unit are done. The total is -1 if it is not known.
func (p *Progress) Counts(unit string) func(what string, done, total int) {
	return func(what string, done, total int) { p.update(unit, what, done, total) }
}

func (p *Progress) update(unit, what string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown || time.Since(began) < quiet {
		return
	}
	if p.bar == nil || unit != p.unit || total != p.bar.GetMax() || p.bar.IsFinished() {
		p.remove()
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(p.short(what)),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(unit),
			progressbar.OptionSetWidth(30),
			progressbar.OptionClearOnFinish())
		p.unit, p.what = unit, what
	}
	if what != p.what {
		p.what = what
		p.bar.Describe(p.short(what))
	}
	_ = p.bar.Set(done) // not being able to draw the bar is no reason to fail
}

// short is the text cut to half a line, which leaves room for the numbers.
func (p *Progress) short(text string) string {
	runes, most := []rune(manifest.Clean(text)), max(width(p.out)/2, 10)
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// Done removes the bar.
func (p *Progress) Done() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.Clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = false
}

// Clear removes the bar until there is more to show.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove()
}

func (p *Progress) remove() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}
