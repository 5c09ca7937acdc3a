package manifest

import (
	"bytes"
	"compress/flate"
	"io"
)

// rereadablePipe is a pipe that stores the text read so far, so that the text can be read a second time. It stores the text compressed: a dump takes
// about a twentieth of its size.
type rereadablePipe struct {
	in     io.Reader
	err    error // the error at which the pipe ended
	text   bytes.Buffer
	packer *flate.Writer
	size   int
}

func newRereadablePipe(in io.Reader) *rereadablePipe {
	k := &rereadablePipe{in: in}
	k.packer, _ = flate.NewWriter(&k.text, flate.BestSpeed) // fails only for an invalid level
	return k
}

// Read reads from the pipe, but no more than the maximum size of a file.
func (k *rereadablePipe) Read(p []byte) (int, error) {
	switch {
	case k.err != nil:
		return 0, k.err
	case k.size == maxJSON:
		return 0, io.EOF
	}
	n, err := k.in.Read(p[:min(len(p), maxJSON-k.size)])
	_, _ = k.packer.Write(p[:n]) // writes to memory cannot fail
	k.size, k.err = k.size+n, err
	return n, err
}

// rewind returns a reader of the whole text from the beginning, including the part of the pipe that is not read yet. Do not read from the
// pipe itself any more.
func (k *rereadablePipe) rewind() io.Reader {
	_ = k.packer.Close() // writes to memory cannot fail
	rest := k.in
	if k.err != nil {
		rest = endedPipe{k.err}
	}
	return io.MultiReader(flate.NewReader(&k.text), rest)
}

// endedPipe is a pipe that has ended.
type endedPipe struct{ err error }

func (e endedPipe) Read([]byte) (int, error) { return 0, e.err }
