package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const namespaceJSON = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}`

func TestHostileInput(t *testing.T) {
	// Each level has the level below it nine times: nine to the power of nine values in all.
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	for _, test := range []struct{ name, text, want string }{
		{"alias bomb", laughs, "bomb.yaml: line 1: not valid YAML: YAML aliases make this document larger than 64 MiB; write out what is needed"},
		{"long alias", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 1000) + "*a]\n",
			"bomb.yaml: line 1: not valid YAML: YAML aliases make this document larger than 64 MiB; write out what is needed"},
		{"alias of itself", "a: &a [*a]\n", "bomb.yaml: line 1: not valid YAML: anchor 'a' value contains itself"},
		{"deep YAML", strings.Repeat("[", 1<<20), "bomb.yaml: line 1: not valid JSON: invalid character '[' exceeded max depth"},
		{"deep JSON", strings.Repeat(`{"a":`, 1<<20), "bomb.yaml: line 1: not valid JSON: invalid character '{' exceeded max depth"},
		{"deep Lists", strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, 2000) + strings.Repeat("]}", 2000),
			"bomb.yaml: " + strings.TrimSuffix(strings.Repeat("items[0].", 10), ".") + ": more than 10 Lists inside each other"},
		{"too large", strings.Repeat("#", maxYAML+1), "bomb.yaml: too large; of one file at most 64 MiB of YAML or 1 GiB of JSON are read, so split it into several"},
		{"large YAML after JSON", namespaceJSON + "\n---\na: " + strings.Repeat("#", maxYAML), "bomb.yaml: line 2: the YAML from here on is too large; at most 64 MiB are read, so split it"},
		{"large YAML in braces", "{\"a\": b}" + strings.Repeat("#", maxYAML), "bomb.yaml: line 1: not valid JSON: invalid character 'b' looking for beginning of value"},
		{"binary", "\x7fELF\x00\x01", "bomb.yaml: byte 5 is 0, so this is no text; give YAML or JSON in UTF-8"},
		{"Latin-1", "a: \xe4", "bomb.yaml: not valid UTF-8; save the file as UTF-8"},
		{"UTF-16", "\xff\xfea\x00", "bomb.yaml: a string where an object with apiVersion and kind is wanted"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "bomb.yaml: byte 3 is 0, so this is no text; give YAML or JSON in UTF-8"},
		{"null key", "~: a", "bomb.yaml: line 1: not valid YAML: ~ is the key of a field, which has to be a string; put it in quotes"},
		{"not a number", "a: .nan", "bomb.yaml: line 1: not valid YAML: .nan is no number that JSON has; give another, or put it in quotes"},
		{"merged again and again", "x: &a {k: 1}\ny: {" + strings.Repeat(`"<<": *a, `, 20_000) + "}\n", `bomb.yaml: line 2: not valid YAML: mapping key "<<" already defined at line 2`},
		{"long aliases of one string", "a: &a " + strings.Repeat("x", 4<<20) + "\nb: [" + strings.Repeat("*a, ", 3000) + "*a]\n",
			"bomb.yaml: line 1: not valid YAML: YAML aliases make this document larger than 64 MiB; write out what is needed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Decode("bomb.yaml", []byte(test.text))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got  %.300s\nwant %s", err, test.want)
			}
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 256 {
				t.Errorf("%d MiB were allocated before it was refused; want no more than a few times the file's size", used)
			}
		})
	}
}

// resource.ParseQuantity would compute powers of ten for a very long time.
func TestAstronomicQuantities(t *testing.T) {
	const object = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"%s}, "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {%s}}}]}}`
	const requests = "huge.json: Pod default/p: spec.containers[0].resources.requests"
	const refused = "is more, or less, than can be counted; give a quantity such as 500m, 2 or 4Gi"
	digits := strings.Repeat("9", 1<<20)
	for _, test := range []struct{ name, metadata, quantity, want string }{
		{"large", "", `"cpu": "1e999999999"`, requests + `[cpu]: Invalid value: "1e999999999": ` + refused},
		{"small", "", `"cpu": "1E-999999999"`, requests + `[cpu]: Invalid value: "1E-999999999": ` + refused},
		{"signed", "", `"cpu": "+.5e+00999999999"`, requests + `[cpu]: Invalid value: "+.5e+00999999999": ` + refused},
		{"number", "", `"cpu": 1e999999999`, requests + `[cpu]: Invalid value: 1e999999999: ` + refused},
		{"escaped", "", `"cpu": "1\u0065999999999"`, requests + `[cpu]: Invalid value: "1\u0065999999999": ` + refused},
		{"many digits", "", `"cpu": "` + digits + `"`, requests + `[cpu]: Invalid value: "` + digits[:80] + "… (1048576 characters) …" + digits[:80] + `": ` + refused},
		{"many decimals", "", `"cpu": "0.` + digits + `"`, requests + `[cpu]: Invalid value: "0.` + digits[:78] + "… (1048578 characters) …" + digits[:80] + `": ` + refused},
		{"twice", "", `"cpu": "1e999999999", "cpu": "1"`, `huge.json: Pod default/p: duplicate field "spec.containers[0].resources.requests.cpu"`},
		{"beyond a number", `, "generation": 1e999`, `"cpu": "1"`, "huge.json: Pod default/p: metadata.generation: Invalid value: 1e999: is too large; the most is 9223372036854775807"},
		{"capped by upstream", "", `"cpu": "1e999"`, requests + `[cpu]: Invalid value: "1e999": ` + refused},
		{"not a quantity", `, "labels": {"commit": "1e999999", "build": "20260101000000000000000000000000000000000000000000000000000000"}`, `"cpu": "1e2"`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode("huge.json", fmt.Appendf(nil, object, test.metadata, test.quantity))
			if got := fmt.Sprint(err); got != cmp.Or(test.want, "<nil>") {
				t.Errorf("got  %.300s\nwant %.300s", got, test.want)
			}
		})
	}
	t.Run("node", func(t *testing.T) {
		_, err := Decode("node.yaml", []byte("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 1e999999999}}\n"))
		want := `node.yaml: Node n1: status.allocatable[cpu]: Invalid value: "1e999999999": ` + refused
		if got := fmt.Sprint(err); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// A large exponent is found at any place, and among any other digits.
func TestAstronomicAtEveryPlace(t *testing.T) {
	for at := range 9 {
		pad := strings.Repeat(" ", at)
		for text, want := range map[string]bool{
			`{"a":` + pad + `"1e999"}`: true, `{"a":` + pad + `1E-100,"b":12}`: true, `{"a":1234,` + pad + `"b":"12345e+1234"}`: true,
			`{"a":` + pad + `"` + strings.Repeat("9", maxQuantity/2) + `"}`: true, `{"a":` + pad + `"\u0065"}`: true,
			`{"a":` + pad + `"-.5e999"}`: true, `{"uid":` + pad + `"0b1c-4e21-9f12e999"}`: false, `{"image":` + pad + `"shop@sha256:1e999"}`: true,
			`{"a":` + pad + `"1e99"}`: false, `{"a":` + pad + `"e999a"}`: false, `{"a":` + pad + `12345}`: false,
			`{"a":` + pad + `"` + strings.Repeat("9", maxQuantity/2-1) + `"}`: false,
		} {
			if got := mayHaveHugeQuantity([]byte(text)); got != want {
				t.Errorf("%s: %t; want %t", text, got, want)
			}
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	_, err := Decode("bad.yaml", []byte(strings.Repeat("---\nkind: Pod\n", 150)))
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if want := "120 more problems of this kind; only the first 30 are listed"; len(lines) != 31 || lines[30] != want {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestByteOrderMarksAndCarriageReturns(t *testing.T) {
	set, err := Decode("windows.yaml", []byte("\ufeffapiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: a}\r\n---\r\n\ufeff{\"apiVersion\": \"v1\", \"kind\": \"Namespace\", \"metadata\": {\"name\": \"b\"}}\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(set); got != "windows.yaml: document 1 (line 1): Namespace a\nwindows.yaml: document 2 (line 5): Namespace b\n" {
		t.Error(got)
	}
}

func podList(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-%d","namespace":"shop","uid":"%d","labels":{"app":"web","pod-template-hash":"7d4b9c"},
			"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d4b9c","uid":"1","controller":true}]},
			"spec":{"nodeName":"n%d","schedulerName":"default-scheduler","containers":[{"name":"c","image":"nginx","resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}],
			"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"web"}}}}]}},
			"tolerations":[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300}]},
			"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2025-03-01T10:00:00Z"}]}}`, i, i+1, i%100)
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func BenchmarkDecode1000Pods(b *testing.B) {
	data := podList(1000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode("dump.json", data); err != nil {
			b.Fatal(err)
		}
	}
}

// The test removes every value of valid objects, or replaces it by an unfitting one; the decoder must never panic.
func TestMutilatedObjects(t *testing.T) {
	text := dumpedPod
	for _, file := range []string{"testdata/ok/all-kinds.yaml", "testdata/ok/rules.yaml"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += "---\n" + string(data)
	}
	documents, errs := splitDocuments("all.yaml", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	decoded := 0
	for _, d := range documents {
		var root any
		if err := json.Unmarshal(d.json, &root); err != nil {
			t.Fatal(err)
		}
		mutilate(root, func() {
			text, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			if set, err := Decode("mutilated.json", text); (set == nil) == (err == nil) {
				t.Fatalf("set %v, error %v: %s", set, err, text)
			}
			decoded++
		})
	}
	if decoded < 1000 {
		t.Errorf("only %d objects were tried", decoded)
	}
}

// mutilate changes one value inside the value at a time, calls try, and changes it back.
func mutilate(value any, try func()) {
	wrong := []any{nil, "", "x", -1, 1e300, true, []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			old := v[key]
			for _, w := range wrong {
				v[key] = w
				try()
			}
			delete(v, key)
			try()
			v[key] = old
			mutilate(old, try)
		}
	case []any:
		for i, old := range v {
			for _, w := range wrong {
				v[i] = w
				try()
			}
			v[i] = old
			mutilate(old, try)
		}
	}
}
