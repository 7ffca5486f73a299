package git

import (
	"strings"
	"sync"
	"unicode"
)

const (
	// notesSize is how many bytes of a server's stderr are kept.
	notesSize = 4 << 10
	// noteSize is how many characters of a line are shown.
	noteSize = 200
)

// stderrExcerpt keeps the beginning of a server's stderr.
type stderrExcerpt struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer. It never fails.
func (e *stderrExcerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text.Write(p[:min(len(p), notesSize-e.text.Len())])
	return len(p), nil
}

// first returns the first line with text, "" if there is none.
func (e *stderrExcerpt) first() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range strings.Lines(e.text.String()) {
		if line = note(line); line != "" {
			return line
		}
	}
	return ""
}

// note cleans a line of a server: GitLab for example draws a frame of
// "remote: ====" around its messages.
func note(line string) string {
	line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "remote:"))
	if strings.Trim(line, "=-*") == "" {
		return ""
	}
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, line)
	if runes := []rune(line); len(runes) > noteSize {
		line = string(runes[:noteSize]) + "…"
	}
	return line
}
