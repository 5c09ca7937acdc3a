package anonymous

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestOrder compares the order of many names with the order of their new names.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"web", "we", "webs", "kube", "kubeflow", "system", "systemd", "a", "acme", "zz", "shop", "0", "7", "12", "1a", "1b", "rack12", "rack2", "d4b9c5f", "x2x9z", "28839060", "45529", "49r2d", "45r2d", "45rdz"}
	v := newVocabulary()
	var names []string
	for range 400 {
		name := parts[random.IntN(len(parts))]
		for range random.IntN(4) {
			name += []string{"-", "."}[random.IntN(2)] + parts[random.IntN(len(parts))]
		}
		names = append(names, name)
		v.replaceName(name)
	}
	v.assignNewWords()
	slices.Sort(names)
	names = slices.Compact(names)
	last := ""
	for i, name := range names {
		new := v.replaceName(name)
		if i > 0 && new <= last {
			t.Errorf("%s sorts before %s, but %s is %s and %s is %s", names[i-1], name, names[i-1], last, name, new)
		}
		last = new
		if problems := validation.IsDNS1123Subdomain(new); len(problems) > 0 {
			t.Errorf("%s becomes %s: %s", name, new, problems)
		}
	}
}

// TestNames checks that the parts of names that decide stay, and that a name of any length stays valid.
func TestNames(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("a-b.c-", 11), "-")[:63]
	names := []string{"web", "web-0", "web-7d4b9c5f6d-x2x9z", "data-web-12", "eu-central-1a", "ip-10-0-3-17.acme.internal", "kube-system", "kube-api-access-x2x9z", "system-node-critical",
		"123456789012", "rack12", long}
	v := newVocabulary()
	for range 2 {
		for _, name := range names {
			v.replaceName(name)
		}
	}
	v.assignNewWords()
	shape := func(name string) string {
		return regexp.MustCompile(`[a-z]{5,}`).ReplaceAllString(v.replaceName(name), "W")
	}
	want := map[string]string{"web": "W", "web-0": "W-0", "web-7d4b9c5f6d-x2x9z": "W-7W-W", "rack12": "W12", "data-web-12": "W-W-12", "eu-central-1a": "W-W-1W",
		"ip-10-0-3-17.acme.internal": "W-10-0-3-17.W.W", "123456789012": "1W", long: "W"}
	for name, want := range want {
		if got := shape(name); got != want {
			t.Errorf("%s becomes %s (%s), want the form %s", name, v.replaceName(name), got, want)
		}
	}
	for _, name := range []string{"kube-system", "system-node-critical", "default", "true"} {
		if got := v.replaceName(name); got != name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
	if got := v.replaceName("kube-api-access-x2x9z"); !strings.HasPrefix(got, tokenVolume) || strings.Contains(got, "x2x9z") {
		t.Errorf("the volume of a token becomes %s", got)
	}
	if web := v.replaceName("web"); v.replaceName("web-0") != web+"-0" || v.replaceName("data-web-12") != v.replaceName("data-web")+"-12" {
		t.Errorf("web becomes %s, but web-0 becomes %s", web, v.replaceName("web-0"))
	}
	if problems := validation.IsDNS1123Label(v.replaceName(long)); len(problems) > 0 {
		t.Errorf("%s: %s", v.replaceName(long), problems)
	}
}

// TestManyWords checks that there are enough words between two public ones.
func TestManyWords(t *testing.T) {
	v := newVocabulary()
	for i := range 200_000 {
		v.replaceName("kube" + strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i)))
	}
	v.assignNewWords()
	seen := map[string]bool{}
	for old, new := range v.words {
		if seen[new] || len(new) > maxWordLength && !slices.Contains(publicWords, old) {
			t.Fatalf("%s becomes %s", old, new)
		}
		seen[new] = true
	}
}
