import assert from "node:assert/strict";
import test from "node:test";
import {blocks, lesson} from "./lesson.js";
import {shipped} from "./shipped.js";

const strong = (...children) => ({tag: "strong", children}),
  code = (text) => ({tag: "code", children: [text]}),
  p = (...children) => ({tag: "p", children});
const list = (tag, ...items) => ({tag, children: items.map((children) => ({tag: "li", children}))});

for (const [name, text, want] of /** @type {[string, string, object[]][]} */ ([
  ["nothing", undefined, []],
  ["paragraphs", "One\nline.\n\n\nTwo.\n", [p("One line."), p("Two.")]],
  [
    "code and bold",
    "A `b c` and **d `e` * f**.",
    [p("A ", code("b c"), " and ", strong("d ", code("e"), " * f"), ".")],
  ],
  ["what is not closed", "a * b ** c ` d", [p("a * b ** c ` d")]],
  [
    "markup is text",
    "<script>alert(1)</script> [a](javascript:b) &lt; _c_",
    [p("<script>alert(1)</script> [a](javascript:b) &lt; _c_")],
  ],
  ["bold in code is code", "`**a**`", [p(code("**a**"))]],
  [
    "lists",
    "Before:\n- one\n  more of one\n- `two`\n\n- three\n\n1. first\n2) second\n\nAfter.",
    [
      p("Before:"),
      list("ul", ["one more of one"], [code("two")], ["three"]),
      list("ol", ["first"], ["second"]),
      p("After."),
    ],
  ],
  ["a dash in a sentence", "a - b\n-1 is less", [p("a - b -1 is less")]],
]))
  test(name, () => assert.deepEqual(blocks(text), want));

const text = `metadata: {name: "Soft or hard"}
description: Which **one**?
steps:
- name: hard
  description: |
    Three **pods**.

    Always.
- name: more
  fresh: true
- not a step
`;

test("a lesson's steps, and what of it came so", () => {
  const report = {
    steps: [
      {name: "workloads"},
      {
        name: "hard",
        expectations: [{want: "0 pods Pending", got: "1", met: false, why: "no room", source: {file: "x", line: 7}}],
      },
    ],
  };
  assert.deepEqual(lesson(text, report), {
    title: "Soft or hard",
    intro: [p("Which ", strong("one"), "?")],
    steps: [
      {name: "workloads", fresh: false, text: [], ticks: []},
      {
        name: "hard",
        fresh: false,
        text: [p("Three ", strong("pods"), "."), p("Always.")],
        ticks: [{want: "0 pods Pending", got: "1", met: false, open: undefined, why: "no room", line: 7}],
      },
      {name: "more", fresh: true, text: [], ticks: []},
    ],
  });
});

test("text in the middle of typing is no lesson, and no error", () => {
  for (const broken of ["", "a: [", "- 1", "steps: 3", "steps: [null, {name: 3}]", "description: {a: b}"])
    assert.doesNotThrow(() => lesson(broken), broken);
});

test("every shipped scenario can be read as a lesson", () => {
  for (const {name, input} of shipped()) assert.ok(lesson(input.files[input.main]).title, name);
});
