package manifest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// fileReader is a file while it is read: its text in UTF-8, or a tar archive.
type fileReader struct {
	in io.Reader
	io.Closer
	archive bool
	// sized means that the text has about as many bytes as the file: it is neither compressed nor in UTF-16.
	sized bool
	// reopenable means that the file can be opened a second time.
	reopenable bool
	err        error // the first error of a read; nil at the end of the text
}

// Read reads the text.
func (c *fileReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && c.err == nil {
		c.err = err
	}
	return n, err
}

// openReader returns a reader of the file's content, without gzip compression.
func openReader(file io.ReadCloser) (*fileReader, error) {
	start := bufio.NewReader(file)
	magic, err := start.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	c := &fileReader{Closer: file, sized: true}
	for range maxGzip {
		if string(magic) != "\x1f\x8b" {
			break
		}
		unpacked, err := gzip.NewReader(start)
		if err != nil {
			return nil, err
		}
		start, c.sized = bufio.NewReader(unpacked), false
		magic, _ = start.Peek(2) // the text reports the error
	}
	if beginning, _ := start.Peek(tarHeader); isTar(beginning) { // the text reports the error
		c.in, c.archive = start, true
		return c, nil
	}
	beginning, _ := start.Peek(8)
	if err := checkPacked(beginning); err != nil {
		return nil, err
	}
	c.sized = c.sized && byteOrder(beginning) == nil
	c.in = decodeUTF8(start)
	return c, nil
}

// maxGzip is how many times a text may be compressed.
const maxGzip = 3

// packedError is the error for an archive or a compressed file that is not read.
type packedError struct{ what string }

// Error says what to do.
func (e packedError) Error() string { return e.what }

// packedBeginnings has the beginnings of archives and compressed files that are not read. The list of files of a zip archive is at its end.
var packedBeginnings = []struct{ beginning, what string }{
	{"PK\x03\x04", "is a zip archive, which is not read; unpack it, and name the folder"},
	{"7z\xbc\xaf\x27\x1c", "is a 7z archive, which is not read; unpack it, and name the folder"},
	{"Rar!\x1a\x07", "is a rar archive, which is not read; unpack it, and name the folder"},
	{"BZh91AY&", "is compressed by bzip2, which is not read; unpack it, or compress it by gzip"},
	{"\xfd7zXZ\x00", "is compressed by xz, which is not read; unpack it, or compress it by gzip"},
	{"\x28\xb5\x2f\xfd", "is compressed by zstd, which is not read; unpack it, or compress it by gzip"},
}

// checkPacked returns an error for the beginning of an archive or a compressed file that is not read.
func checkPacked(beginning []byte) error {
	for _, p := range packedBeginnings {
		if bytes.HasPrefix(beginning, []byte(p.beginning)) {
			return packedError{p.what}
		}
	}
	return nil
}

// decodeUTF8 returns a reader of the text in UTF-8, without the logs of containers, which a dump can have between its objects. A text that is
// larger than the maximum size of a file ends in an error.
func decodeUTF8(in *bufio.Reader) io.Reader {
	var text io.Reader = in
	beginning, _ := in.Peek(4) // the text reports the error
	if order := byteOrder(beginning); order != nil {
		text = unicode.UTF16(*order, unicode.UseBOM).NewDecoder().Reader(in)
	}
	return &guard{in: newLogFilter(&limitedReader{in: text, left: maxJSON})}
}

// plainText returns the text of a file in memory, converted as by [decodeUTF8].
func plainText(data []byte) ([]byte, error) {
	if byteOrder(data) == nil && !bytes.Contains(data, []byte(logsStart)) && !bytes.Contains(data, []byte(dumpedTo)) {
		return data, nil
	}
	return io.ReadAll(decodeUTF8(bufio.NewReader(bytes.NewReader(data))))
}

// byteOrder returns the byte order of a text in UTF-16, such as PowerShell's > writes, and nil for any other text. A text without a byte
// order mark must begin with two ASCII characters.
func byteOrder(beginning []byte) *unicode.Endianness {
	little, big := unicode.LittleEndian, unicode.BigEndian
	if len(beginning) < 4 {
		return nil
	}
	ascii := func(i, zero int) bool { return beginning[i] >= '\t' && beginning[i] < 0x7f && beginning[zero] == 0 }
	switch {
	case string(beginning[:2]) == "\xff\xfe" && string(beginning[2:4]) != "\x00\x00", ascii(0, 1) && ascii(2, 3):
		return &little
	case string(beginning[:2]) == "\xfe\xff", ascii(1, 0) && ascii(3, 2):
		return &big
	}
	return nil
}

// limitedReader reads up to a number of bytes. If the text has more, the last read fails.
type limitedReader struct {
	in   io.Reader
	left int64
}

// Read reads at most one byte more than are left, to find out whether the text ends.
func (l *limitedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.in.Read(p)
	if l.left -= int64(n); l.left < 0 {
		l.left = 0
		return n - 1, errTooLarge
	}
	return n, err
}

// isDamaged reports whether the error means that text which gzip has compressed was changed or cut off.
func isDamaged(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, new(flate.CorruptInputError))
}
