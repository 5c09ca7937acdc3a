package page

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline/faultline/pkg/report"
	"github.com/faultline/faultline/pkg/report/doc"
)

// Every kind of block has its element; details are folded, and the document does not repeat the head of the page. Titles of columns, missing
// values and indents are not written as on a terminal, and long names can be broken.
func TestWriteDoc(t *testing.T) {
	d := doc.New(report.Head{Kind: "SizeReport", Scenario: "shop <b>"}, report.Options{})
	d.Question = "How few nodes suffice"
	d.Line(doc.Green.Cell("3 nodes will do: every pod has a node."))
	d.Linef(doc.Yellow, "2 pods are left out.")
	d.Section("By zone")
	d.Table("", doc.Bold.Row("ZONE", "NODES", "CPU IN ALL"), doc.Plain.Row("<a>", doc.None, "4"), []doc.Cell{doc.Plain.Cell("*\u00a0eu-west-1a/general&spot"), doc.Red.Cell("10"), doc.Plain.Cell("40")})
	d.Linef(doc.Plain, "With fewer:")
	d.Linef(doc.Plain, "  one pod is Pending")
	d.Linef(doc.Plain, "    for want  of cpu")
	d.Linef(doc.Plain, "  another, too\x1b")
	d.Line(doc.Plain.Cell("See "), doc.Plain.LinkTo("the check", "https://example.com/?a&b"))
	d.More(3, "pod", "pods")
	d.Folded("Commands")
	d.Verbatim("    simulate size shop.yaml")
	d.Verbatim("    simulate run shop.yaml")
	d.Add(doc.Fields{{Title: "Cluster:", Lines: []string{"3 nodes"}, Head: true}, {Title: "Skipped:", Lines: []string{"1 pod", "1 more"}}})
	var out strings.Builder
	if err := WriteDoc(&out, &d, Picture{SVG: []byte("<svg/>")}); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(out.String(), "<main class=\"document\">\n")
	body, _, _ = strings.Cut(body, "</main>")
	want := `<section>
<p><span class="warn">2 pods are left out.</span></p>
</section>
<figure class="chart"><img src="data:image/svg+xml;base64,PHN2Zy8+" alt="3 nodes will do: every pod has a node. The tables below have the numbers."></figure>
<section>
<h2>By zone</h2>
<div class="scroll"><table><thead><tr><th scope="col">Zone</th><th scope="col" class="number">Nodes</th><th scope="col" class="number">CPU in all</th></tr></thead>
<tbody>
<tr><td class="whole">&lt;a&gt;</td><td class="number">–</td><td class="number">4</td></tr>
<tr><td>* eu-<wbr>west-<wbr>1a/<wbr>general&amp;spot</td><td class="number"><span class="bad">10</span></td><td class="number">40</td></tr>
</tbody></table></div>
<p>With fewer:</p>
<ul><li>one pod is Pending<ul><li>for want of cpu</li></ul>
</li>
<li>another, too\x1b</li></ul>
<p>See <a href="https://example.com/?a&amp;b">the check</a></p>
<p class="hint">and 3 more pods</p>
</section>
<details><summary>Commands</summary>
<pre>simulate size shop.yaml
simulate run shop.yaml
</pre>
<p><strong>Skipped:</strong></p>
<ul>
<li>1 pod</li>
<li>1 more</li>
</ul>
</details>
`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, has := range []string{"<h1>How few nodes suffice: shop &lt;b&gt;</h1>", `<span>3 nodes will do: every pod has a node.</span>`} {
		if !strings.Contains(out.String(), has) {
			t.Errorf("no %s in\n%s", has, out.String())
		}
	}
}

// Bars are drawn by attributes, since the page's policy refuses inline styles. Bars without room are counted.
func TestWriteDocBars(t *testing.T) {
	d := doc.New(report.Head{Kind: "DrainReport", Files: "dump.json"}, report.Options{})
	d.Line(doc.Red.Cell("The drain does not end: node/a."))
	b := &doc.Bars{Title: "pods of each node", Unit: "pods", Parts: []doc.Part{{Name: "evicted"}, {Name: "stay", Style: doc.Red}}, Noun: "node", Nouns: "nodes"}
	for range 26 {
		b.Rows = append(b.Rows, doc.BarRow{Name: "<a>", Values: []int{2, 3}, Note: "does not end"})
	}
	var out strings.Builder
	if err := WriteDoc(&out, &d, Picture{Bars: b}); err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{
		"<h1>dump.json</h1>", `<p class="verdict failed" id="verdict">`, "<b>Pods of each node</b>", `<rect class="bad" width="1" height="1"/></svg> stay</span>`,
		`<thead><tr><th></th><th></th><th scope="col">Pods</th><th></th></tr></thead>`,
		`<tr><th scope="row">&lt;a&gt;</th><td><svg viewBox="0 0 5 1" preserveAspectRatio="none" aria-hidden="true"><rect class="" x="0" width="2" height="1"><title>evicted: 2</title></rect>` +
			`<rect class="bad" x="2" width="3" height="1"><title>stay: 3</title></rect></svg></td><td class="number">2 + 3</td><td>does not end</td></tr>`,
		`<p class="hint">and 2 more nodes</p>`,
	} {
		if !strings.Contains(out.String(), has) {
			t.Errorf("no %s in\n%s", has, out.String())
		}
	}
	if strings.Contains(out.String(), " style=") {
		t.Error("an element has a style, which the page's policy refuses")
	}
}

// A course is drawn as columns, by attributes alone. A count that is always 0 has no column.
func TestWriteDocCourse(t *testing.T) {
	d := doc.New(report.Head{Kind: "RollReport", Files: "dump.json"}, report.Options{})
	d.Line(doc.Green.Cell("The roll ends."))
	c := &doc.Course{Title: "nodes and price", Moments: []string{"start", "<b>"}, Curves: []doc.Curve{
		{Name: "nodes", Values: []float64{3, 4}}, {Name: "Pending", Style: doc.Red, Values: []float64{0, 0}},
		{Name: "price", Values: []float64{0.1 + 0.2, 0.126}},
	}}
	var out strings.Builder
	if err := WriteDoc(&out, &d, Picture{Course: c}); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(out.String(), "<main class=\"document\">\n")
	body, _, _ = strings.Cut(body, "</main>")
	want := `<figure class="bars">
<figcaption><b>Nodes and price</b></figcaption>
<table><tbody>
<tr><th scope="row">nodes</th><td><svg viewBox="0 0 2 100" preserveAspectRatio="none" aria-hidden="true"><rect class="" x="0" y="25" width="1" height="75"><title>start: 3</title></rect><rect class="" x="1" y="0" width="1" height="100"><title>&lt;b&gt;: 4</title></rect></svg></td><td>3 → 4</td></tr>
<tr><th scope="row">Pending</th><td><svg viewBox="0 0 2 100" preserveAspectRatio="none" aria-hidden="true"></svg></td><td>0</td></tr>
<tr><th scope="row">price</th><td><svg viewBox="0 0 2 100" preserveAspectRatio="none" aria-hidden="true"><rect class="" x="0" y="0" width="1" height="100"><title>start: 0.3</title></rect><rect class="" x="1" y="58" width="1" height="42"><title>&lt;b&gt;: 0.13</title></rect></svg></td><td>0.3 → 0.13</td></tr>
</tbody></table>
<p class="hint">From left to right: start and &lt;b&gt;</p>
</figure>
`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
