package output

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// startTime is when the program started. [quietTime] is how long it then shows nothing: most questions are answered sooner.
var startTime = time.Now()

const quietTime = 500 * time.Millisecond

// Progress is a progress bar on standard error. It shows nothing unless standard error is a terminal. It appears by itself if the work does
// not report any progress for a while.
type Progress struct {
	out   io.Writer
	shown bool

	mu    sync.Mutex
	timer *time.Timer
	bar   *progressbar.ProgressBar
	unit  string // what the bar counts, such as pods
	what  string
}

// NewProgress returns a bar on out. If out is a terminal, the bar appears once the program has run for a moment.
func NewProgress(out io.Writer) *Progress {
	p := &Progress{out: out, shown: isTerminal(out)}
	if p.shown {
		p.timer = time.AfterFunc(time.Until(startTime.Add(quietTime)), func() {
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

// Counts returns a function that shows what the program does, and how many of the unit are done. A total of -1 means that it is unknown.
func (p *Progress) Counts(unit string) func(what string, done, total int) {
	return func(what string, done, total int) { p.update(unit, what, done, total) }
}

func (p *Progress) update(unit, what string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shown || time.Since(startTime) < quietTime {
		return
	}
	if p.bar == nil || unit != p.unit || total != p.bar.GetMax() || p.bar.IsFinished() {
		p.remove()
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetDescription(p.shorten(what)),
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
		p.bar.Describe(p.shorten(what))
	}
	_ = p.bar.Set(done) // a bar that cannot be drawn is no reason to fail
}

// shorten cuts the text to half a line, so that there is room for the numbers.
func (p *Progress) shorten(text string) string {
	runes, most := []rune(manifest.Clean(text)), max(lineWidth(p.out)/2, 10)
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// Done removes the bar for good.
func (p *Progress) Done() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.Clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = false
}

// Clear removes the bar until there is new progress to show.
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
