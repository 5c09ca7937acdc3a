// The lesson: the step's text beside its map, with a question before the answer, and what was expected after it.

import {steps} from "#shared/data.js";
import {fill, h} from "#shared/dom.js";
import {show, view} from "#shared/view.js";
import {lesson} from "./lesson.js";
import {isAsked, predictions, questionPart, wasAnswered} from "./predicting.js";
import {state} from "./state.js";

// textOf is the lesson that the scenario has, null where it has no words for its steps.
export function textOf() {
  const read = lesson(state.input.files[state.input.main] ?? "", state.report);
  return read.steps.some((step) => step.text.length + step.why.length > 0) || (read.intro.length > 0 && predictions.on)
    ? read
    : null;
}

// drawLesson draws the text of the step in view; predict is called with whether the reader wants to.
export function drawLesson(predict) {
  const read = textOf() ?? {title: state.report?.scenario ?? "", intro: [], steps: []},
    name = state.report?.steps[view.step]?.name;
  const of = read.steps.find((step) => step.name === name) ?? {name: name ?? "", text: [], why: [], ticks: []};
  const asked = isAsked(),
    last = view.step >= steps.length - 1;
  const panel = document.getElementById("lesson"),
    top = panel.dataset.step === name ? panel.scrollTop : 0;
  panel.replaceChildren();
  fill(panel, {}, [
    h("p", {class: "eyebrow"}, steps.length > 1 ? `${read.title} · ${view.step + 1} of ${steps.length}` : read.title),
    view.step === 0 && read.intro.length > 0 && h("div", {class: "intro"}, read.intro.map(element)),
    h("h2", {}, of.name),
    of.text.map(element),
    asked
      ? questionPart()
      : [
          of.why.length > 0 &&
            h(
              "details",
              {
                class: "why",
                open: wasAnswered(name) || told.has(name),
                toggle: (event) => {
                  if (event.target.open) told.add(name);
                },
              },
              h("summary", {}, "Why?"),
              withoutTitle(of.why).map(element),
            ),
          of.ticks.length > 0 &&
            h(
              "ul",
              {class: "ticks"},
              of.ticks.map((tick) =>
                h(
                  "li",
                  {class: tick.met ? "good" : "bad"},
                  h(
                    "span",
                    {class: "sign", role: "img", "aria-label": tick.met ? "met" : "not met"},
                    tick.met ? "✓ " : "✕ ",
                  ),
                  tick.want,
                  !tick.met && `; got ${tick.got}`,
                ),
              ),
            ),
        ],
    h(
      "p",
      {class: "buttons pager"},
      h(
        "button",
        {type: "button", class: "button", disabled: view.step === 0, click: () => show(view.step - 1)},
        "← Back",
      ),
      h(
        "label",
        {class: "toggle"},
        h("input", {type: "checkbox", checked: predictions.on, change: (event) => predict(event.target.checked)}),
        "Predict first",
      ),
      h("button", {type: "button", class: "button", disabled: last, click: () => show(view.step + 1)}, "Next →"),
    ),
  ]);
  panel.dataset.step = name;
  panel.scrollTop = top;
}

const told = new Set(); // steps whose why the reader asked for

// withoutTitle are the blocks without the bold word that they begin with.
const withoutTitle = ([
  {
    tag,
    children: [, ...rest],
  },
  ...blocks
]) => [
  {tag, children: rest.map((child, i) => (i === 0 && typeof child === "string" ? capital(child.trimStart()) : child))},
  ...blocks,
];
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

// element is a block of a lesson's text.
const element = (block) => (typeof block === "string" ? block : h(block.tag, {}, block.children.map(element)));
