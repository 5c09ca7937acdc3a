package decider

import (
	"strings"
	"sync"
)

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// kept is how many bytes a tail keeps.
const kept = 4096

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if over := len(t.text) - kept; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(text), nil
}

// last returns the last three lines as one.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return cut(strings.Join(lines[max(0, len(lines)-3):], "; "))
}
