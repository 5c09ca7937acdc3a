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

// maxQuantity is how many characters of a quantity are read.
const maxQuantity = 50

// astronomic finds exponents with which resource.ParseQuantity computes powers of ten for minutes or years. Those that it can
// do it cuts down to 2⁶³-1, with which the scheduler's thousandths overflow.
var astronomic = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)

var errAstronomic = errors.New("is more, or less, than can be counted; give a quantity such as 500m, 2 or 4Gi")

// checkQuantities returns what is wrong with an object in which there is a quantity that would take forever to parse.
func checkQuantities(t reflect.Type, object []byte) []string {
	if !mayBeAstronomic(object) {
		return nil
	}
	if found := locate(t, object); len(found) > 0 {
		return found
	}
	// The decoder parses both values of a field that is there twice, of which locate has seen the second.
	strict, err := kjson.UnmarshalStrict(object, new(any))
	if err != nil {
		return []string{err.Error()}
	}
	return strictProblems(t, strict)
}

// checkQuantity refuses a quantity, as it stands in JSON, that would take forever to parse.
func checkQuantity(value []byte) error {
	var text string
	if json.Unmarshal(value, &text) == nil { // without quotes and escape sequences
		value = []byte(text)
	}
	if len(value) > maxQuantity || astronomic.Match(value) {
		return errAstronomic
	}
	return nil
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// mayBeAstronomic reports whether a string or number somewhere in the JSON ends in a large exponent or has very many digits, or
// may do so behind an escape sequence. It takes a hundredth of the time that decoding takes: of three digits in a row, one is at every
// third place.
func mayBeAstronomic(object []byte) bool {
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
		if digits >= 3 && bytes.IndexByte([]byte("\",}] \t\r\n"), object[i]) >= 0 && astronomic.Match(object[max(0, begin-2):i]) {
			return true
		}
		if digits >= maxQuantity/2 {
			return true
		}
	}
	return bytes.Contains(object, []byte(`\u00`))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
