package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/internal/browsertest"
	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/pkg/web"
)

// startTally serves the page with an engine, and counts the answers of a class.
func startTally(t *testing.T) (address string) {
	t.Helper()
	engine := playground.New("test")
	engine.Class = true
	served := web.New(engine, engine, 1, nil)
	served.Class = web.NewClass("secret")
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	return server.URL
}

func get(t *testing.T, address string) (status int, body string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// The page sends what was answered first, and what at the second try, of a lesson that nobody changed. The teacher sees the numbers.
func TestTallyOfAClass(t *testing.T) {
	address := startTally(t)
	b := browsertest.Start(t)
	for _, second := range []string{"node(s) had untolerated taint(s)", "node(s) were unschedulable"} {
		r := openPage(t, b.Tab(), address, "/#lesson=1-walkthrough")
		r.WaitForText("#asked", "Your answers are counted for the class, without names.")
		browsertest.Evaluate[bool](r.Browser, "(localStorage.clear(), true)")
		r.answer("1", "1", "node(s) were unschedulable")
		r.WaitForText("#asked", "Check again")
		r.answer(second)
		r.WaitForText("#verdict", "All 2 pods run.")
		r.Click("#lesson .progress .link")
	}
	r := openPage(t, b.Tab(), address, "/#lesson=1-walkthrough")
	r.Click("#asked .link")
	r.WaitForText("#verdict", "All 2 pods run.")

	// The answers to a changed lesson do not count.
	r.choose(leverSelector("replicas"), "3")
	r.WaitForText("#verdict", "1 Pending")
	r.Click("#lesson .progress .link")
	r.WaitForText("#asked", "How many pods does each region get?")
	r.Click("#asked .link")

	teacher := openPage(t, b.Tab(), address, "/class?token=secret")
	teacher.WaitForText("main", "Hard and soft rules", "hard-region-2 How many pods does each region get?", "✓ east 1, west 1\t2\t0", "skipped\t1",
		"node(s) were unschedulable\t2\t1", "✓ node(s) had untolerated taint(s)\t0\t1")
}

func TestTallyIsForTheTeacher(t *testing.T) {
	address := startTally(t)
	for _, path := range []string{"/class", "/class?token=", "/class?token=secrets"} {
		if status, body := get(t, address+path); status != http.StatusForbidden || !strings.Contains(body, "for its teacher") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := get(t, address+"/class?token=secret"); status != http.StatusOK || !strings.Contains(body, "Nobody has answered yet.") {
		t.Errorf("%d %s", status, body)
	}
	without := startServer(t)
	if status, _ := get(t, without+"/class?token="); status != http.StatusNotFound {
		t.Errorf("without a class: %d", status)
	}
	if status := tell(t, without, `{}`); status != http.StatusNotFound {
		t.Errorf("answers without a class: %d", status)
	}
}

func tell(t *testing.T, address, body string) (status int) {
	t.Helper()
	response, err := http.Post(address+"/api/tally", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// A request that is not about a lesson, or too long, counts nothing. Text of students never becomes an element, and what they can make the
// server keep is bounded.
func TestHostileTally(t *testing.T) {
	address := startTally(t)
	answer := func(lesson, ask, outcome string) string {
		return fmt.Sprintf(`{"lesson":%q,"step":"<b>","answers":[{"ask":%q,"given":"<script>alert(1)</script>","outcome":%q}]}`, lesson, ask, outcome)
	}
	for body, want := range map[string]int{
		`[]`: 400, `{}`: 400,
		answer("kind-walkthrough", "a", "right"):                       400,
		answer("lessons/3-weights", "", "right"):                       400,
		answer("lessons/3-weights", "a", "best"):                       400,
		answer("lessons/3-weights", strings.Repeat("a", 401), "right"): 400,
		`{"lesson":"lessons/3-weights","answers":[` + strings.Repeat(`{"ask":"a","outcome":"right"},`, 20) + `{"ask":"a","outcome":"right"}]}`: 400,
		answer("lessons/3-weights", "<i>", "right"): 200,
	} {
		if diff := cmp.Diff(want, tell(t, address, body)); diff != "" {
			t.Errorf("%.100s (-want +got):\n%s", body, diff)
		}
	}
	_, page := get(t, address+"/class?token=secret")
	if !strings.Contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;") || strings.Contains(page, "<script") || strings.Contains(page, "<i>") || strings.Count(page, "<caption>") != 1 {
		t.Errorf("%s", page)
	}
	for i := range 1100 {
		tell(t, address, answer("lessons/3-weights", fmt.Sprint(i), "wrong"))
		tell(t, address, strings.Replace(answer("lessons/3-weights", "<i>", "wrong"), "alert", fmt.Sprint("alert", i), 1))
	}
	_, page = get(t, address+"/class?token=secret")
	if diff := cmp.Diff([]int{1000, 99 + 1000}, []int{strings.Count(page, "<caption>"), strings.Count(page, `<th scope="row"`)}); diff != "" {
		t.Errorf("questions and answers that are kept (-want +got):\n%s", diff)
	}
}
