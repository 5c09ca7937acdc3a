package manifest

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/words"
)

// unescape reverts the escapes that JSON encoders write for <, > and &. It leaves escaped backslashes of the text alone.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// jsonTypeErrorPattern matches the error of JSON decoders for a value of the wrong type.
var jsonTypeErrorPattern = regexp.MustCompile(`(?:error unmarshaling JSON: )?(?:while decoding JSON: )?json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field (\S+)|value) of type [^;]*`)

// rewordJSONError rewords an error that [jsonTypeErrorPattern] matches. The result names only the field and the type of the value.
func rewordJSONError(found string) string {
	parts := jsonTypeErrorPattern.FindStringSubmatch(found)
	is := map[string]string{"array": "a list", "object": "an object", "bool": "true or false"}[parts[1]]
	field := ""
	if _, path, nested := strings.Cut(parts[2], "."); nested { // after the name of the type
		field = strings.TrimPrefix(path, ".") + ": "
	}
	return field + cmp.Or(is, "a "+parts[1]) + " where something else is wanted"
}

// yamlTypeErrorPattern matches the error of YAML decoders for a value of the wrong type. The error has the value if it is short.
var yamlTypeErrorPattern = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into [^;]*")

// rewordYAMLError rewords an error that [yamlTypeErrorPattern] matches. The result names the type of the value.
func rewordYAMLError(found string) string {
	is := map[string]string{"seq": "a list", "map": "an object", "str": "a string", "int": "a number", "float": "a number", "bool": "true or false"}
	tag := yamlTypeErrorPattern.FindStringSubmatch(found)[1]
	return cmp.Or(is[tag], tag) + " where something else is wanted"
}

// RewordProblem returns an error as one clean line without Go types. It shows values as they are in the file, and cuts out the middle of long
// ones.
func RewordProblem(text string) string {
	if strings.Contains(text, "json: cannot unmarshal ") {
		text = jsonTypeErrorPattern.ReplaceAllStringFunc(text, rewordJSONError)
	}
	if strings.Contains(text, "cannot unmarshal !!") {
		text = yamlTypeErrorPattern.ReplaceAllStringFunc(text, rewordYAMLError)
	}
	return words.ShortenValues(Clean(unescape.Replace(text)))
}

// Clean escapes all characters that could control a terminal, break a line or change the direction of writing. Names and messages come from
// untrusted files.
func Clean(text string) string {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
