package manifest

import (
	"bytes"
	"compress/flate"
	"io"
)

// kept is a pipe that is read, of which the text is kept, in case it has to be read again: a twentieth of a dump's size, compressed.
type kept struct {
	in     io.Reader
	err    error // with which it ended
	text   bytes.Buffer
	packer *flate.Writer
	size   int
}

func keep(in io.Reader) *kept {
	k := &kept{in: in}
	k.packer, _ = flate.NewWriter(&k.text, flate.BestSpeed) // a level that there is
	return k
}

// Read reads no more than a file may have.
func (k *kept) Read(p []byte) (int, error) {
	switch {
	case k.err != nil:
		return 0, k.err
	case k.size == maxJSON:
		return 0, io.EOF
	}
	n, err := k.in.Read(p[:min(len(p), maxJSON-k.size)])
	_, _ = k.packer.Write(p[:n]) // into memory
	k.size, k.err = k.size+n, err
	return n, err
}

// again returns the whole text, what was not read of it included. Nothing more is read of the pipe before that is.
func (k *kept) again() io.Reader {
	_ = k.packer.Close() // into memory
	rest := k.in
	if k.err != nil {
		rest = ended{k.err}
	}
	return io.MultiReader(flate.NewReader(&k.text), rest)
}

// ended is a pipe that has ended.
type ended struct{ err error }

func (e ended) Read([]byte) (int, error) { return 0, e.err }
