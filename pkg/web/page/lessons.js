// The lesson: the step's text beside its map, with a question before the answer, and what was expected after it.

import {nodesOf, steps} from "#shared/data.js";
import {fill, h, keepingFocus} from "#shared/dom.js";
import {show, view} from "#shared/view.js";
import {follow, leversChanged} from "./claims.js";
import {element, lesson} from "./lesson.js";
import {closingPart, isAsked, predictions, progressPart, questionPart, resultPart} from "./predicting.js";
import {exampleOf, isChanged, state} from "./state.js";
import {sentencesPart} from "./sentence.js";
import {short} from "./strip.js";

// textOf is the lesson that the scenario has, null where it has no words for its steps.
export function textOf() {
  const read = lesson(state.input.files[state.input.main] ?? "", state.report);
  return read.steps.some((step) => step.text.length > 0) || (read.intro.length > 0 && predictions.on) ? read : null;
}

// finished tells that the reader has turned the last page.
let finished = false;

// drawLesson draws the text of the step in view; on has predict(whether), for who wants to, and drag(input, step), for an
// input that was written by a number of the text.
export function drawLesson(on) {
  const read = textOf() ?? {title: state.report?.scenario ?? "", intro: [], steps: []},
    name = state.report?.steps[view.step]?.name;
  const of = read.steps.find((step) => step.name === name) ?? {name: name ?? "", text: [], ticks: []};
  const asked = isAsked(),
    last = view.step >= steps.length - 1;
  finished = finished && last && predictions.on && !asked;
  const panel = document.getElementById("lesson"),
    top = panel.dataset.step === name ? panel.scrollTop : 0;
  panel.replaceChildren();
  const changes = state.example && isChanged() ? leversChanged(state.first, state.input, name, nodesOf[view.step]) : [];
  made = elementOf(changes);
  fill(panel, {}, [
    h("p", {class: "eyebrow"}, steps.length > 1 ? `${read.title} · ${view.step + 1} of ${steps.length}` : read.title),
    (view.step === 0 || exampleOf().challenge) &&
      read.intro.length > 0 &&
      h("div", {class: "intro"}, read.intro.map(made)),
    ...(finished ? closingPart() : stepParts(of, asked, changes, on.drag)),
    h(
      "p",
      {class: "buttons pager"},
      h(
        "button",
        {
          type: "button",
          class: "button",
          "data-focus": "step before",
          disabled: view.step === 0,
          click: () => (finished ? finish(false) : turn(-1)),
        },
        "← Back",
      ),
      h(
        "label",
        {class: "toggle"},
        h("input", {type: "checkbox", checked: predictions.on, change: (event) => on.predict(event.target.checked)}),
        "Predict first",
      ),
      h(
        "button",
        {
          type: "button",
          class: "button",
          "data-focus": "next step",
          disabled: asked || finished || (last && !predictions.on),
          title: asked && "Answer the questions first, or skip them",
          click: () => (last ? finish(true) : turn(1)),
        },
        last && predictions.on ? "Finish" : "Next →",
      ),
    ),
    progressPart(),
  ]);
  panel.dataset.step = name;
  panel.scrollTop = top;
}

// stepParts are the text of a step, its questions or how they were answered, and its claims.
const stepParts = (of, asked, changes, drag) => [
  h("h2", {tabindex: "-1"}, of.name),
  of.text.map(made),
  changedPart(changes),
  asked
    ? questionPart()
    : [
        resultPart(),
        sentencesPart(drag),
        of.ticks.length > 0 &&
          !exampleOf().challenge && // the goal has them
          h(
            "ul",
            {class: "ticks"},
            of.ticks.map((tick) =>
              h(
                "li",
                {class: tick.met ? "good" : tick.open ? "hint" : "bad"},
                h(
                  "span",
                  {class: "sign", role: "img", "aria-label": tick.met ? "met" : (tick.open?.words ?? "not met")},
                  (tick.met ? "✓" : (tick.open?.sign ?? "✕")) + " ",
                ),
                tick.want,
                !tick.met && `; got ${tick.got}`,
                tick.open && `: ${tick.open.words}`,
              ),
            ),
          ),
      ],
];

// finish turns the last page, or turns it back.
function finish(done) {
  finished = done;
  keepingFocus(() => show(view.step));
  /** @type {HTMLElement} */
  const title = document.querySelector("#lesson h2");
  title?.focus();
}

// turn goes to another step, and to what it asks.
function turn(by) {
  keepingFocus(() => show(view.step + by));
  /** @type {HTMLElement} */
  const first = document.querySelector("#asked input");
  first?.focus();
  document.getElementById("lesson").scrollIntoView({block: "nearest"});
}

// freshStep tells whether the step in view begins with an empty cluster.
export const freshStep = () => textOf()?.steps.find(({name}) => name === state.report?.steps[view.step]?.name)?.fresh;

// elementOf makes blocks of a lesson's text: words for what the reader changed are followed by what it is now.
const elementOf = (changes) => (block) => {
  if (typeof block === "string") return block;
  const now = block.tag !== "p" && block.children.length === 1 && follow(String(block.children[0]), changes);
  const as = element(block, elementOf(changes));
  return now ? [h("s", {}, as), " ", h(block.tag, {class: "changed"}, now.to)] : as;
};
let made = elementOf([]);

// changedPart lists what the reader changed of the step.
const changedPart = (changes) =>
  changes.length > 0 &&
  h(
    "p",
    {class: "changedbyyou"},
    h("b", {}, "Changed by you: "),
    changes.map(({of, label, from, to}) => `${label}${of && ` of ${of}`} ${short(from)} → ${short(to)}`).join(", ") +
      ". The text is about the lesson as it came.",
  );
