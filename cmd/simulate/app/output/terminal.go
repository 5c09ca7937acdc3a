package output

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// lineWidth returns how many characters a line of text may have: COLUMNS, or the width of the terminal. It returns 0, no limit, for a file or a
// pipe.
func lineWidth(out io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 0
}

// isTerminal reports whether the writer is a terminal.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
