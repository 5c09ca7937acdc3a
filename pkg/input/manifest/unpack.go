package manifest

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

// unpack returns the text of a file that gzip has compressed, but no more than the maximum size of a file and a byte, or the file as it is.
// It reports whether the file is compressed.
func unpack(file io.ReadCloser) (text io.ReadCloser, compressed bool, err error) {
	start := bufio.NewReader(file)
	switch magic, err := start.Peek(2); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, false, err
	case string(magic) != "\x1f\x8b":
		return input{start, file}, false, nil
	}
	unpacked, err := gzip.NewReader(start)
	if err != nil {
		return nil, true, err
	}
	return input{io.LimitReader(unpacked, maxJSON+1), file}, true, nil
}

// damaged reports whether an error is of text that gzip has compressed, and that was changed or cut off since.
func damaged(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, new(flate.CorruptInputError))
}

// input reads from one thing and closes another.
type input struct {
	io.Reader
	io.Closer
}
