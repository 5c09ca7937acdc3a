package app

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/faultline/faultline/pkg/input/manifest"
)

// progress is a progress bar on standard error for work that takes more than a second. It shows nothing without a terminal.
type progress struct {
	out   io.Writer
	shown bool
	began time.Time
	bar   *progressbar.ProgressBar
	step  string
	unit  string // what is counted
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, shown: isTerminal(out), began: time.Now(), unit: "pods"}
}

// update shows how far the step is.
func (p *progress) update(step string, done, total int) {
	if !p.shown || time.Since(p.began) < time.Second {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionSetItsString(p.unit),
			progressbar.OptionSetWidth(30),
			progressbar.OptionClearOnFinish())
	}
	if step != p.step || total != p.bar.GetMax() {
		p.step = step
		p.bar.Describe(manifest.Clean(step))
		p.bar.ChangeMax(total)
	}
	_ = p.bar.Set(done) // not being able to draw the bar is no reason to fail
}

// done removes the bar.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
