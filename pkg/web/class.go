package web

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/faultline/faultline/pkg/playground"
	"github.com/faultline/faultline/scenarios"
)

// These are the limits of what a class can make the server keep: the length of a text, the answers of one request, the questions, and the
// different answers to a question.
const (
	maxTallyText      = 400
	maxTallyAnswers   = 20
	maxTallyQuestions = 1000
	maxTallyOptions   = 100
)

// Class counts the answers of a class to the questions of lessons. It knows no names and no addresses: a student who answers again counts
// again. Whoever has the token can read the numbers at /class?token=TOKEN.
type Class struct {
	token string

	mu        sync.Mutex
	questions []*tallied // in the order of their first answers
}

// NewClass returns a class without answers.
func NewClass(token string) *Class { return &Class{token: token} }

// tallied is a question with the number of each answer.
type tallied struct {
	Lesson, Step, Ask string
	Skipped           int
	Options           []*option
}

// option is an answer with the number of those who gave it first, and at the second try.
type option struct {
	Given         string
	Right         bool
	First, Second int
}

// tallyRequest has the answers that somebody gave to the questions of a step.
type tallyRequest struct {
	Lesson  string        `json:"lesson"`
	Step    string        `json:"step"`
	Answers []tallyAnswer `json:"answers"`
}

type tallyAnswer struct {
	Ask     string `json:"ask"`
	Given   string `json:"given"`
	Outcome string `json:"outcome"` // right, equal, wrong or skipped
	Again   bool   `json:"again"`
}

// tallyMethod is the method by which the page sends the answers, beside those of the engine.
const tallyMethod = "tally"

var errTally = errors.New("the request is not what the method takes: a lesson, its step, and up to 20 answers")

// count adds the answers of a request.
func (c *Class) count(body []byte) error {
	var request tallyRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return errTally
	}
	all, err := scenarios.All()
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(all, func(e scenarios.Example) bool { return e.Lesson && e.Name == request.Lesson })
	tooLong := func(text string) bool { return len(text) > maxTallyText || !utf8.ValidString(text) }
	wrong := func(a tallyAnswer) bool {
		return a.Ask == "" || tooLong(a.Ask) || tooLong(a.Given) || !slices.Contains([]string{"right", "equal", "wrong", "skipped"}, a.Outcome)
	}
	if !known || tooLong(request.Step) || len(request.Answers) > maxTallyAnswers || slices.ContainsFunc(request.Answers, wrong) {
		return errTally
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, answer := range request.Answers {
		if question := c.question(request.Lesson, request.Step, answer.Ask); question != nil {
			question.count(answer)
		}
	}
	return nil
}

// question returns the question, which it adds unless there are too many.
func (c *Class) question(lesson, step, ask string) *tallied {
	i := slices.IndexFunc(c.questions, func(q *tallied) bool { return q.Lesson == lesson && q.Step == step && q.Ask == ask })
	switch {
	case i >= 0:
		return c.questions[i]
	case len(c.questions) == maxTallyQuestions:
		return nil
	}
	added := &tallied{Lesson: lesson, Step: step, Ask: ask}
	c.questions = append(c.questions, added)
	return added
}

func (q *tallied) count(answer tallyAnswer) {
	if answer.Outcome == "skipped" {
		q.Skipped++
		return
	}
	i := slices.IndexFunc(q.Options, func(o *option) bool { return o.Given == answer.Given })
	if i < 0 {
		if len(q.Options) == maxTallyOptions {
			return
		}
		i = len(q.Options)
		q.Options = append(q.Options, &option{Given: answer.Given, Right: answer.Outcome != "wrong"})
	}
	if answer.Again {
		q.Options[i].Second++
	} else {
		q.Options[i].First++
	}
}

// These are the beginning and the end of the page with the numbers. html/template would write the page, but a program that runs templates
// keeps every method of every type, since a template could name it: that would add 40 MB to this program.
const (
	classHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Answers of the class · Faultline</title><link rel="icon" href="data:,"><link rel="stylesheet" href="playground.css"></head>
<body class="class"><main>
<h1>Answers of the class</h1>
<p class="hint">How often each answer was given, without names. The numbers are those since the server began; reload the page for newer ones.</p>
`
	classEnd = "</main></body></html>\n"
)

// lessonTally is the part of the page about a lesson.
type lessonTally struct {
	Title     string
	Questions []tallied
}

// serve sends the page, if the request has the token.
func (c *Class) serve(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(c.token)) == 0 {
		refuse(w, r, http.StatusForbidden, playground.KindInput, "the answers of the class are for its teacher; open the address that simulate serve printed")
		return
	}
	all, err := scenarios.All()
	if err != nil {
		refuse(w, r, http.StatusInternalServerError, playground.KindInternal, "%s", err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	writeAnswer(w, classPage(c.byLesson(all)))
}

// classPage returns the HTML of the numbers.
func classPage(lessons []lessonTally) []byte {
	page := bytes.NewBufferString(classHead)
	for _, lesson := range lessons {
		fmt.Fprintf(page, "<h2>%s</h2>\n", html.EscapeString(lesson.Title))
		for _, question := range lesson.Questions {
			question.write(page)
		}
	}
	if len(lessons) == 0 {
		page.WriteString("<p>Nobody has answered yet.</p>\n")
	}
	page.WriteString(classEnd)
	return page.Bytes()
}

// write writes a table of the answers to the question.
func (q tallied) write(page *bytes.Buffer) {
	fmt.Fprintf(page, "<table>\n<caption><small>%s</small> %s</caption>\n", html.EscapeString(q.Step), html.EscapeString(q.Ask))
	page.WriteString(`<thead><tr><th scope="col">Answer</th><th scope="col" class="number">First try</th><th scope="col" class="number">Second try</th></tr></thead>
<tbody>`)
	for _, o := range q.Options {
		row, sign := "<tr>", ""
		if o.Right {
			row, sign = `<tr class="chosen">`, `<span class="sign good">✓</span> `
		}
		fmt.Fprintf(page, "%s<th scope=\"row\">%s%s</th><td class=\"number\">%d</td><td class=\"number\">%d</td></tr>\n",
			row, sign, html.EscapeString(o.Given), o.First, o.Second)
	}
	if q.Skipped > 0 {
		fmt.Fprintf(page, "<tr><th scope=\"row\" class=\"hint\">skipped</th><td class=\"number\">%d</td><td></td></tr>\n", q.Skipped)
	}
	page.WriteString("</tbody></table>\n")
}

// byLesson returns the questions of each lesson, the most frequent answers first.
func (c *Class) byLesson(all []scenarios.Example) (lessons []lessonTally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, example := range all {
		lesson := lessonTally{Title: example.Title}
		for _, q := range c.questions {
			if q.Lesson != example.Name {
				continue
			}
			sorted := *q
			sorted.Options = nil
			for _, o := range q.Options {
				kept := *o
				sorted.Options = append(sorted.Options, &kept)
			}
			slices.SortStableFunc(sorted.Options, func(a, b *option) int {
				return cmp.Or(cmp.Compare(b.First, a.First), cmp.Compare(b.Second, a.Second), cmp.Compare(a.Given, b.Given))
			})
			lesson.Questions = append(lesson.Questions, sorted)
		}
		if len(lesson.Questions) > 0 {
			lessons = append(lessons, lesson)
		}
	}
	return lessons
}
