package sarif

import (
	"testing"
)

func TestURI(t *testing.T) {
	for path, want := range map[string]string{
		"deploy.yaml": "deploy.yaml", "../a b/é.yaml": "../a%20b/%C3%A9.yaml", "c:d.yaml": "./c:d.yaml", "/abs/x.yaml": "file:///abs/x.yaml", "a#b?.yaml": "a%23b%3F.yaml",
	} {
		if got := uri(path); got != want {
			t.Errorf("uri(%s) is %s, want %s", path, got, want)
		}
	}
}

func TestUnlinked(t *testing.T) {
	if got := unlinked("[a](http://b) {c: }"); got != `[a\](http://b) {c: }` {
		t.Error(got)
	}
}
