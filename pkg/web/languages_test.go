package web_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/faultline/faultline/pkg/internal/browsertest"
)

// english are words that only an English sentence has.
var english = regexp.MustCompile(`(?i)\b(the|and|of|is|are|has|have|with|this|that|what|which|how|many|why|not|does|each|pods run|yes|lesson|step|question|answer|undo|share)\b`)

// textsOnPage returns what the page says, each text once, without code, the editor, and what kube-scheduler says in its own words.
const textsOnPage = `[...new Set((() => {
  const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const {parentElement: parent, data} = walker.currentNode;
    if (parent.closest("script, noscript, code, pre, kbd, mark, textarea, #why li, #handout, #language, .message, .causes, .tabs b, .others, #lesson h2, .closing li > button, .choicesasked") || !parent.checkVisibility()) continue;
    texts.push(data.trim());
  }
  for (const name of ["title", "aria-label", "placeholder"]) for (const element of document.querySelectorAll("[" + name + "]")) if (!element.closest(".tabs, .others, .message") && element.checkVisibility()) texts.push(element.getAttribute(name).trim());
  return texts;
})())].filter(Boolean)`

// In Portuguese and German, a class reads no English: not on the opening page, nor in a lesson, its questions, their answers and its end, nor in
// a challenge, nor in the form of a lesson. Kubernetes' own words stay.
func TestLanguages(t *testing.T) {
	address := startServer(t)
	for _, language := range []struct{ code, home, asked, right, verdict, goal, form string }{
		{"pt", "Onde o scheduler põe um pod, e por quê?", "O que você espera?", "Certo: east 1, west 1.", "Todos os 2 pods rodam. Tudo como esperado.", "O objetivo ainda não foi alcançado.", "A sua lição"},
		{"de", "Wohin bringt der Scheduler einen Pod, und warum?", "Was erwartest du?", "Richtig: east 1, west 1.", "Alle 2 Pods laufen. Alles wie erwartet.", "Das Ziel ist noch nicht erreicht.", "Deine Lektion"},
	} {
		t.Run(language.code, func(t *testing.T) {
			r := openPage(t, browsertest.Start(t), address, "/")
			r.WaitForText("#home", "Lessons")
			browsertest.Evaluate[bool](r.Browser, fmt.Sprintf(`(localStorage.setItem("faultline language", %q), true)`, language.code)) // as the switch does
			r.reload()
			r.WaitUntil(fmt.Sprintf(`document.documentElement.lang === %q`, language.code))
			check := func(what string) {
				t.Helper()
				for _, text := range browsertest.Evaluate[[]string](r.Browser, textsOnPage) {
					if words := english.FindString(text); words != "" && !strings.HasPrefix(text, "0/") { // kube-scheduler's own message
						t.Errorf("%s: %q is English: %q", what, words, text)
					}
				}
			}
			r.WaitForText("#home", language.home)
			check("the opening page")
			r.follow("#lesson=1-walkthrough")
			r.WaitForText("#lesson", language.asked)
			check("a question")
			r.answer("1", "1", "node(s) were unschedulable")
			r.WaitUntil(`document.querySelector("#lesson .tryagain")`)
			check("a hint")
			r.answer("node(s) had untolerated taint(s)")
			r.WaitForText("#lesson", language.right)
			r.WaitForText("#verdict", language.verdict)
			check("an answer")
			r.Click(`#map [data-domain="affinity-worker3"]`)
			r.WaitUntil(`document.querySelector("#panel .fates")`)
			check("a failure")
			for i := range 7 {
				r.Click(fmt.Sprintf("#tab-%d", i+1))
				r.Click("#asked .buttons .link")
				r.WaitUntil(`!document.querySelector("#asked")`)
				check(fmt.Sprintf("step %d", i+2))
			}
			r.Click("#lesson .pager button:last-child")
			r.WaitUntil(`document.querySelector("#lesson .closing")`)
			check("the end")
			r.follow("#example=challenges/2-one-node-fewer")
			r.WaitForText("#verdict", language.goal)
			check("a challenge")
			r.follow("#example=own-lesson")
			r.WaitForText("#builder", language.form)
			r.WaitUntil(`document.querySelector("#builder fieldset .hint b")`)
			check("the form of a lesson")
			r.reload()
			r.WaitForText("#builder", language.form) // the browser keeps the choice
		})
	}
}

// Without a choice, the page speaks the first language of the browser's that it knows.
func TestLanguageOfTheBrowser(t *testing.T) {
	b := browsertest.Start(t)
	const languages = `Object.defineProperty(navigator, "languages", {value: ["fr-FR", "pt-PT", "en"]})`
	if _, err := chromedp.Call(b.Ctx, protocol.AddScriptToEvaluateOnNewDocument, protocol.AddScriptToEvaluateOnNewDocumentParams{Source: languages}); err != nil {
		t.Fatal(err)
	}
	r := openPage(t, b, startServer(t), "/")
	r.WaitForText("#home", "Onde o scheduler põe um pod, e por quê?")
	r.WaitUntil(`document.querySelector("#language").value === "pt"`)
}
