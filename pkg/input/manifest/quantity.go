package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// maxQuantity is the maximum number of characters of a quantity.
const maxQuantity = 50

// hugeExponent matches exponents for which resource.ParseQuantity would compute powers of ten for minutes or years. If it can compute them,
// it cuts the quantity to 2⁶³-1, which overflows in the scheduler's thousandths.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)

var errHugeQuantity = errors.New("is more, or less, than can be counted; give a quantity such as 500m, 2 or 4Gi")

// checkQuantities returns the problems of an object with quantities that would take forever to parse.
func checkQuantities(t reflect.Type, object []byte) []string {
	if !mayHaveHugeQuantity(object) {
		return nil
	}
	if found := findMisfits(t, object); len(found) > 0 {
		return found
	}
	// The decoder parses both values of a duplicate field, but [findMisfits] has seen only the second.
	strict, err := kjson.UnmarshalStrict(object, new(any))
	if err != nil {
		return []string{err.Error()}
	}
	return strictProblems(t, strict)
}

// checkQuantity returns an error for a JSON quantity that would take forever to parse.
func checkQuantity(value []byte) error {
	var text string
	if json.Unmarshal(value, &text) == nil { // removes quotes and escape sequences
		value = []byte(text)
	}
	if len(value) > maxQuantity || hugeExponent.Match(value) {
		return errHugeQuantity
	}
	return nil
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// mayHaveHugeQuantity reports whether a string or number in the JSON ends in a large exponent or has very many digits, or may do so after an
// escape sequence. It takes a hundredth of the time of decoding, because it looks at every third character only: of three digits in a row,
// one is there.
func mayHaveHugeQuantity(object []byte) bool {
	for i := 2; i < len(object); i += 3 {
		if !isDigit(object[i]) {
			continue
		}
		begin := i
		for begin > 0 && isDigit(object[begin-1]) {
			begin--
		}
		for i < len(object) && isDigit(object[i]) {
			i++
		}
		if i == len(object) {
			break
		}
		digits := i - begin
		if digits >= 3 && bytes.IndexByte([]byte("\",}] \t\r\n"), object[i]) >= 0 && isExponentOfNumber(object[:i], begin) {
			return true
		}
		if digits >= maxQuantity/2 {
			return true
		}
	}
	return bytes.Contains(object, []byte(`\u00`))
}

// isExponentOfNumber reports whether the digits from begin to the end of the JSON are the exponent of a number, as in "1e999". In the uid
// "6f6a…-b4c2e999" they are not: letters and dashes stand before them, and the parser gives up there.
func isExponentOfNumber(object []byte, begin int) bool {
	if !hugeExponent.Match(object[max(0, begin-2):]) {
		return false
	}
	number := bytes.TrimRight(object[:begin], "+-")
	number = number[:len(number)-1] // the e
	number = bytes.TrimRight(number, "0123456789.")
	number = bytes.TrimRight(number, "+-")
	return len(number) == 0 || bytes.IndexByte([]byte("\":,[ \t\r\n"), number[len(number)-1]) >= 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
