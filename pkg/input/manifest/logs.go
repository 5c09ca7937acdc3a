package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// kubectl cluster-info dump prints to standard output first the lists of objects, then the logs of each container between two marker lines,
// and at last a line of its own; see
// https://github.com/kubernetes/kubernetes/blob/v1.37.1/staging/src/k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
const (
	logsStart = "==== START logs for container "
	dumpedTo  = "Cluster info dumped to "
)

var (
	startOfLogs = regexp.MustCompile(`^==== START (logs for container \S+ of pod \S+/\S+ ====)\r?\n?$`)
	endOfDump   = regexp.MustCompile(`^` + dumpedTo + `(standard output|\S+)\r?\n?$`)
)

// logFilter is a reader that leaves out the logs of containers. Each line of a log becomes an empty line, so that the lines after it keep
// their numbers.
type logFilter struct {
	in        *bufio.Reader
	line      int    // the number of complete lines so far
	midLine   bool   // the last piece did not end its line
	endMarker []byte // the text that ends the present logs; nil outside of logs
	logsLine  int    // the line on which the present logs began
	skipped   []byte // the end of the last piece, which may be the beginning of the marker that ends the logs
	ready     []byte // the text to return next
	err       error
	lineFeed  [1]byte
}

func newLogFilter(in io.Reader) *logFilter {
	return &logFilter{in: bufio.NewReaderSize(in, 64<<10), lineFeed: [1]byte{'\n'}}
}

// Read reads as much as there is.
func (l *logFilter) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(l.ready) == 0 {
			if l.err != nil || n > 0 && l.in.Buffered() == 0 {
				break
			}
			l.readPiece()
		}
		copied := copy(p[n:], l.ready)
		n, l.ready = n+copied, l.ready[copied:]
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, l.err
}

// readPiece reads a line, or a piece of a long one.
func (l *logFilter) readPiece() {
	piece, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	first := !l.midLine
	l.midLine, l.err = !bytes.HasSuffix(piece, []byte("\n")), err
	if !l.midLine {
		l.line++
	}
	switch {
	case l.endMarker != nil:
		l.skipLogs(piece)
	case first && bytes.HasPrefix(piece, []byte(logsStart)) && startOfLogs.Match(piece):
		l.endMarker, l.logsLine = append([]byte("==== END "), startOfLogs.FindSubmatch(piece)[1]...), max(1, l.line)
		l.emitEmptyLine()
	case first && bytes.HasPrefix(piece, []byte(dumpedTo)) && endOfDump.Match(piece):
		if l.ready = bytes.Clone(piece); l.atEnd() {
			l.ready = nil
			l.emitEmptyLine()
		}
	default:
		l.ready = piece
	}
	if l.endMarker != nil && errors.Is(l.err, io.EOF) {
		l.err = &cutLogsError{line: l.logsLine, logs: string(bytes.TrimSuffix(l.endMarker, []byte(" ====")))}
	}
}

// skipLogs skips a piece of the logs. The marker that ends the logs may be in the middle of a line, since the last line of a container need not
// end.
func (l *logFilter) skipLogs(piece []byte) {
	if len(l.skipped) > 0 {
		piece = append(l.skipped, piece...)
	}
	l.skipped = nil
	switch {
	case bytes.HasSuffix(bytes.TrimRight(piece, "\r\n"), l.endMarker):
		l.endMarker = nil
	case l.midLine:
		l.skipped = bytes.Clone(piece[max(0, len(piece)-len(l.endMarker)):])
	}
	l.emitEmptyLine()
}

// emitEmptyLine returns an empty line in place of a skipped line that has ended.
func (l *logFilter) emitEmptyLine() {
	if !l.midLine {
		l.ready = l.lineFeed[:]
	}
}

// atEnd reports whether the text ends here.
func (l *logFilter) atEnd() bool {
	_, err := l.in.Peek(1)
	return errors.Is(err, io.EOF)
}

// cutLogsError is the error of container logs without an end.
type cutLogsError struct {
	line int
	logs string
}

// Error names the line on which the logs begin.
func (e *cutLogsError) Error() string {
	return fmt.Sprintf("line %d: the logs that begin here do not end with %q: the dump is cut off; write or copy it anew", e.line, e.logs+" ====")
}
