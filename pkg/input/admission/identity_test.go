package admission

import "testing"

func TestGeneratedNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for n := range 100_000 {
		name := GenerateName("web-", n)
		if seen[name] {
			t.Fatalf("name %s came twice", name)
		}
		seen[name] = true
	}
}
