package ci

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCopyRandom(t *testing.T) {
	const checksum = "checksum/secret: "
	for _, c := range []struct{ name, now, once, then, want string }{
		{"a checksum", checksum + "aa11", checksum + "bb22", checksum + "cc33", checksum + "cc33"},
		{"words that begin alike", checksum + "aa11", checksum + "ab22", checksum + "cc33", checksum + "cc33"},
		{"a part of a name", "name: test-a1\nimage: x:2", "name: test-b2\nimage: x:2", "name: test-c3\nimage: x:1", "name: test-c3\nimage: x:2"},
		{"one value twice", checksum + "a\n" + checksum + "a", checksum + "b\n" + checksum + "b", checksum + "c", checksum + "c\n" + checksum + "c"},
		{"two values", "k: a1\nk: a2", "k: b1\nk: b2", "k: c1\nk: c2", "k: c1\nk: c2"},
		{"a value that is new", "k: a1", "k: b1", "l: c1", "k: a1"},
	} {
		now := strings.Split(c.now, "\n")
		copyRandom(now, strings.Split(c.once, "\n"), strings.Split(c.then, "\n"))
		if diff := cmp.Diff(c.want, strings.Join(now, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
