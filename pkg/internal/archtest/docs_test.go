package archtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// path is a package, folder or file as a document names it. With a longer path before it, it is another repository's.
	path = regexp.MustCompile(`(^|[^\w./-])(?:\./)?((?:pkg|cmd)/[\w./-]*)`)
	// upstream are links to other repositories, in which such paths are theirs.
	upstream = regexp.MustCompile(`https?://[^\s)>]+`)
)

func TestDocumentsNamePathsThatExist(t *testing.T) {
	const root = "../../.."
	var documents []string
	for _, glob := range []string{"docs/*.md", "docs/adr/*.md", "CONTRIBUTING.md", "README.md"} {
		found, err := filepath.Glob(filepath.Join(root, glob))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: no files (%v)", glob, err)
		}
		documents = append(documents, found...)
	}
	checked := 0
	for _, document := range documents {
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range paths(string(data)) {
			checked++
			if _, err := os.Stat(filepath.Join(root, named)); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s names %s, which does not exist", strings.TrimPrefix(document, root+"/"), named)
			}
		}
	}
	if checked < 100 { // the table of packages alone has more than 70
		t.Errorf("found %d paths, which is too few: the expression no longer matches them", checked)
	}
}

// paths lists the project's paths in a text; of a path with NAME, which stands for something new, the folders before it.
func paths(text string) []string {
	var all []string
	for _, match := range path.FindAllStringSubmatch(upstream.ReplaceAllString(text, " "), -1) {
		named, _, _ := strings.Cut(match[2], "NAME")
		all = append(all, strings.TrimRight(named, "./")) // the end of a sentence, or of ./pkg/...
	}
	return all
}
