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

// unescape undoes what encoders of JSON make of <, > and &, behind no backslash of the text's own.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// goTypes finds what decoders of JSON say of a value that does not fit.
var goTypes = regexp.MustCompile(`(?:error unmarshaling JSON: )?(?:while decoding JSON: )?json: cannot unmarshal (\w+)(?: \S+)? into Go (?:struct field (\S+)|value) of type [^;]*`)

// inWords words it by the field and the type of the value alone.
func inWords(found string) string {
	parts := goTypes.FindStringSubmatch(found)
	is := map[string]string{"array": "a list", "object": "an object", "bool": "true or false"}[parts[1]]
	field := ""
	if _, path, nested := strings.Cut(parts[2], "."); nested { // behind the name of the type
		field = strings.TrimPrefix(path, ".") + ": "
	}
	return field + cmp.Or(is, "a "+parts[1]) + " where something else is wanted"
}

// yamlTypes finds the same of decoders of YAML, with the value if it is short.
var yamlTypes = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into [^;]*")

// yamlInWords words it by the type of the value.
func yamlInWords(found string) string {
	is := map[string]string{"seq": "a list", "map": "an object", "str": "a string", "int": "a number", "float": "a number", "bool": "true or false"}
	tag := yamlTypes.FindStringSubmatch(found)[1]
	return cmp.Or(is[tag], tag) + " where something else is wanted"
}

// Problem is an error as one line: clean, without Go's types, with values as they stand in the file, and the middle of long ones cut out.
func Problem(text string) string {
	if strings.Contains(text, "json: cannot unmarshal ") {
		text = goTypes.ReplaceAllStringFunc(text, inWords)
	}
	if strings.Contains(text, "cannot unmarshal !!") {
		text = yamlTypes.ReplaceAllStringFunc(text, yamlInWords)
	}
	return words.ShortValues(Clean(unescape.Replace(text)))
}

// Clean writes whatever could drive a terminal, break a line or turn the direction of writing as an escape that shows it. Names
// and messages come from other people's files.
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
