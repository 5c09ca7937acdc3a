package live

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ForEachItem calls a function for each item of a List in JSON. It returns the first error of the function, or of reading the List.
func ForEachItem(list io.Reader, each func(object []byte) error) error {
	decoder := jsontext.NewDecoder(list)
	for decoder.PeekKind() != jsontext.KindBeginArray {
		if _, err := decoder.ReadToken(); err != nil {
			return err
		}
	}
	return forEachElement(decoder, func(value jsontext.Value) error { return each(value.Clone()) })
}

// forEachStoredItem is [ForEachItem] for a part of a [Dump], which stores objects compressed and without a list around them.
func forEachStoredItem(part []byte, each func(object []byte) error) error {
	if len(part) == 0 {
		return nil
	}
	text, err := gzip.NewReader(bytes.NewReader(part))
	if err != nil {
		return err
	}
	return ForEachItem(io.MultiReader(strings.NewReader("["), text, strings.NewReader("]")), each)
}

// forEachElement reads an array, and calls a function for each of its values. A value is valid only during the call.
func forEachElement(decoder *jsontext.Decoder, each func(jsontext.Value) error) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != jsontext.KindEndArray {
		value, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		if err := each(value); err != nil {
			return err
		}
	}
	_, err := decoder.ReadToken()
	return err
}
