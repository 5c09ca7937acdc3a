package anonymous

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// publicWords lists words that stay, also as a part of a name: words that every cluster has, and words of labels by which package blast
// recognizes that the pods of a workload vote.
var publicWords = []string{
	"access", "api", "app", "aws", "cluster", "control", "controller", "critical", "default", "domain", "etcd", "failure", "false", "hdfs", "io",
	"journalnode", "kafka", "kafscale", "kube", "kubernetes", "latest", "lease", "master", "metadata", "name", "node", "plane", "public", "scheduler",
	"server", "system", "topology", "true", "vol", "worker", "zone", "zookeeper",
}

// maxLabel is the maximum length of a label's value, and of most names.
const maxLabel = 63

// wordPattern matches a part of a name between dashes, dots and the like. [numberedWord] matches a part with a number that stays: web2, 12, or 1a as in
// a zone. Any other part, such as a hash, is a single word.
var (
	wordPattern  = regexp.MustCompile(`[0-9A-Za-z\x{80}-\x{10FFFF}]+`)
	numberedWord = regexp.MustCompile(`^(?:([A-Za-z\x{80}-\x{10FFFF}]*)([0-9]{1,4})|([0-9]{1,2})([A-Za-z]))$`)
)

// vocabulary maps the words of a dump to new ones. The first walk fills it; then it is closed, and the second walk uses it.
type vocabulary struct {
	words, texts, uids map[string]string // the new word, by the old one; "" until the vocabulary is closed
	// numbers has the keys of labels whose values are compared as numbers, drivers the public names of drivers, and `private` the names of
	// device drivers that are replaced, also in expressions.
	numbers, drivers, privateDrivers map[string]bool
	closed                           bool
}

func newVocabulary() *vocabulary {
	return &vocabulary{words: map[string]string{}, texts: map[string]string{}, uids: map[string]string{}, numbers: map[string]bool{}, drivers: map[string]bool{}, privateDrivers: map[string]bool{}}
}

// replaceName replaces the words of a name, and keeps the separators. Separators and digits sort before all letters, so names sort as their words
// do.
func (v *vocabulary) replaceName(name string) string {
	if name == "" {
		return ""
	}
	if v.drivers[name] {
		return name
	}
	if new, found := v.uids[name]; found && v.closed {
		return new
	}
	if rest, found := strings.CutPrefix(name, tokenVolume); found {
		return tokenVolume + v.replaceName(rest) // cluster.WithoutToken recognizes the volume by this prefix
	}
	length := 0
	replaced := wordPattern.ReplaceAllStringFunc(name, func(old string) string {
		new := v.replaceNumberedWord(old)
		length += max(len(new), maxWordLength+4)
		return new
	})
	switch {
	case v.closed && len(replaced) > maxLabel && len(name) <= maxLabel:
		return v.words[name] // the whole name is one word
	case !v.closed && len(name) <= maxLabel && length+len(name) > maxLabel:
		v.translate(v.words, name)
	}
	return replaced
}

// replaceNumberedWord replaces a word, and keeps the number before or after it.
func (v *vocabulary) replaceNumberedWord(old string) string {
	if parts := numberedWord.FindStringSubmatch(old); parts != nil {
		return v.replaceWord(parts[1]) + parts[2] + parts[3] + v.replaceWord(parts[4])
	}
	if old[0] <= '9' {
		return old[:1] + v.replaceWord(old) // sorts among numbers as before, unless two begin with the same digit
	}
	return v.replaceWord(old)
}

func (v *vocabulary) replaceWord(old string) string {
	if old == "" {
		return ""
	}
	return v.translate(v.words, old)
}

const tokenVolume = "kube-api-access-"

// minWordLength and [maxWordLength] bound the length of the new words.
const minWordLength, maxWordLength = 5, 9

// replaceText replaces a text as a whole, such as a command.
func (v *vocabulary) replaceText(text string) string {
	if text == "" {
		return ""
	}
	return v.translate(v.texts, text)
}

func (v *vocabulary) replaceUID(uid string) string {
	if uid == "" {
		return ""
	}
	return v.translate(v.uids, uid)
}

// translate collects the word while the vocabulary is open, and returns its new word afterwards.
func (v *vocabulary) translate(to map[string]string, word string) string {
	if v.closed {
		return to[word]
	}
	to[word] = ""
	return word
}

// assignNewWords closes the vocabulary, and gives each word its new one.
func (v *vocabulary) assignNewWords() {
	for i, text := range slices.Sorted(maps.Keys(v.texts)) {
		v.texts[text] = fmt.Sprintf("x%d", i+1)
	}
	for i, uid := range slices.Sorted(maps.Keys(v.uids)) {
		v.uids[uid] = fmt.Sprintf("00000000-0000-4000-8000-%012x", i+1)
	}
	known := map[string]bool{}
	for _, word := range publicWords {
		v.words[word], known[word] = word, true
	}
	sorted := slices.Sorted(maps.Keys(v.words)) // 26⁷ words between two public ones are enough for any dump
	for length := minWordLength; !v.assignWordsOfLength(sorted, known, length); length++ {
	}
	v.closed = true
}

// assignWordsOfLength gives the words new ones of this length, which sort between the public words before and after them. It returns false if there are
// not enough.
func (v *vocabulary) assignWordsOfLength(sorted []string, known map[string]bool, length int) bool {
	for from := 0; from <= len(sorted); {
		to := from
		for to < len(sorted) && !known[sorted[to]] {
			to++
		}
		low, high := 0, countWordsBefore(strings.Repeat("z", length), length)+1
		if from > 0 {
			if low = countWordsBefore(sorted[from-1], length); len(sorted[from-1]) == length {
				low++
			}
		}
		if to < len(sorted) {
			high = countWordsBefore(sorted[to], length)
		}
		n := to - from
		if high-low < n {
			return false
		}
		for i := range n {
			v.words[sorted[from+i]] = wordAt(low+(high-low)*(2*i+1)/(2*n), length)
		}
		from = to + 1
	}
	return true
}

const alphabetSize = 'z' - 'a' + 1

// countWordsBefore returns how many words of the length sort before the given word.
func countWordsBefore(word string, length int) int {
	n := 0
	for i := range length {
		n *= alphabetSize
		if i < len(word) {
			n += int(word[i] - 'a')
		}
	}
	if len(word) > length {
		n++ // the word's own beginning sorts before it, too
	}
	return n
}

// wordAt returns the word of the length before which n words of this length sort.
func wordAt(n, length int) string {
	word := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		word[i] = byte('a' + n%alphabetSize)
		n /= alphabetSize
	}
	return string(word)
}
