// Predict, then look: a step's questions are asked before its map and its verdict are shown.

import {domainOf, load, nodesOf, steps} from "#shared/data.js";
import {h, say} from "#shared/dom.js";
import {inLanguage} from "#shared/language.js";
import {drawMap} from "#shared/stage.js";
import {show, view} from "#shared/view.js";
import {count, HOSTNAME, noun} from "#shared/words.js";
import {element} from "./lesson.js";
import {fragmentOf, HOME} from "./link.js";
import {inWords, judge, keeper, reasonOf} from "./quiz.js";
import {exampleOf, isChanged, state} from "./state.js";

const LISTED = 16; // of more nodes none is listed beside the map

export const predictions = {on: false};

const progress = keeper(localStorage);

let send = (_) => {};

// tallying is called once; tell gets the answers to the questions of a step, where a server counts those of a class.
export const tallying = (tell) => (send = tell);

// tally sends answers of a lesson as it came: those to a changed one say nothing of it.
function tally(step, answers) {
  if (state.class && exampleOf().lesson && !isChanged() && answers.length > 0)
    send({lesson: state.example, step, answers});
}

// progressOf is how far the reader is in a lesson.
export const progressOf = (lesson) => progress.count(lesson);

const lessonName = () => state.example || state.report?.scenario || "";
const questionsOf = (name) => state.quiz?.find(({step}) => step === name)?.questions ?? [];

// answeredIn is what was answered of a step, undefined before it was, and empty where it was skipped.
export const answeredIn = (name) => progress.of(lessonName(), name);

// hidden tells of a step whose answer is not to be seen yet.
export const hidden = (name) => predictions.on && !answeredIn(name) && (!state.quiz || questionsOf(name).length > 0);

// isAsked reports whether the step in view has questions before its answer.
export function isAsked() {
  const step = state.report?.steps[view.step];
  return Boolean(step) && hidden(step.name);
}

// drawQuestion shows the cluster as it was before the step; fresh tells that the step begins with an empty one.
export function drawQuestion(fresh) {
  const step = state.report.steps[view.step],
    before = fresh ? undefined : state.report.steps[view.step - 1];
  load({report: state.report, live: true});
  const shown = {...step, pods: before?.pods ?? [], requested: before?.requested, nodes: nodesOf[view.step]};
  load({report: {...state.report, steps: state.report.steps.toSpliced(view.step, 1, shown)}, live: true});
  Object.assign(view, {failed: null, marked: null, found: null});
  drawMap();
  markChosen();
  for (const id of ["scores", "verdict", "since", "why", "told", "tables"])
    document.getElementById(id).replaceChildren();
}

// markTabs hides what the tabs say of steps that are hidden.
export const markTabs = () =>
  document
    .querySelectorAll("#stepbar [role=tab]")
    .forEach((tab, i) => tab.classList.toggle("unseen", hidden(state.report.steps[i]?.name)));

/** @returns {NodeListOf<HTMLInputElement>} */
const boxes = () => document.querySelectorAll("#asked fieldset.active input[type=checkbox]");

// pick takes a click on the map for an answer; it reports whether it did.
export function pick(key, domain) {
  if (!isAsked()) return false;
  const node = nodesOf[view.step].find((node) => domainOf(node, HOSTNAME) === domain)?.name;
  const box = [...boxes()].find(({value}) => value === node);
  if (!document.querySelector("#asked fieldset.active")) say("Answer the questions first, or skip them.");
  else if (key !== HOSTNAME || !box) say(`Choose a node of ${noun(key)} ${domain}.`);
  else box.click();
  return true;
}

// markChosen rings the nodes on the map that the active question has.
function markChosen() {
  const chosen = new Set([...boxes()].filter(({checked}) => checked).map(({value}) => value));
  for (const name of document.querySelectorAll("#map .node .name"))
    name.closest(".node").classList.toggle("guessed", chosen.has(name.textContent));
}

// questionPart asks, in a form, all that is asked of the step in view.
export function questionPart() {
  const name = state.report.steps[view.step].name;
  if (!state.quiz) return h("p", {class: "hint predict", role: "status"}, "The questions of this step are coming …");
  const asked = questionsOf(name),
    given = asked.map(() => undefined);
  const check = h("button", {type: "submit", class: "button", disabled: true}, "Check");
  const take = (i, value) => {
    given[i] = value;
    check.disabled = given.includes(undefined);
  };
  const end = (kept) => {
    progress.keep(lessonName(), name, kept);
    show(view.step);
    /** @type {HTMLElement} */
    const result = document.querySelector("#lesson .predict") ?? document.querySelector("#lesson h2");
    result?.focus();
    result?.scrollIntoView({block: "nearest"});
  };
  const skip = () => {
    if (wrong.size === 0)
      tally(
        name,
        asked.map(({ask}) => ({ask, outcome: "skipped", given: "", again: false})),
      );
    end([]);
  };
  const first = asked.findIndex(({kind}) => kind === "nodes");
  const wrong = new Set(); // the questions whose first answer was wrong
  // giveHints asks the wrong ones once more.
  const giveHints = (form, kept) => {
    const sets = [...form.querySelectorAll("fieldset")];
    kept.forEach(({outcome}, i) => {
      if (outcome !== "wrong") {
        sets[i].append(h("p", {class: "good"}, "✓ Right."));
        sets[i].disabled = true;
        return;
      }
      wrong.add(i);
      sets[i].append(h("p", {class: "tryagain", role: "status"}, h("b", {}, "Not yet. "), asked[i].hint));
    });
    check.textContent = inLanguage("Check again");
    /** @type {HTMLElement} */
    const input = form.querySelector("fieldset:not(:disabled) input");
    input?.focus();
  };
  return h(
    "form",
    {
      id: "asked",
      class: "predict",
      submit: (event) => {
        event.preventDefault();
        if (check.disabled) return;
        const kept = asked.map((question, i) => ({
          ask: question.ask,
          given: given[i],
          outcome: judge(question, given[i]),
          ...(wrong.has(i) ? {again: true} : {}),
        }));
        tally(
          name,
          kept
            .map(({ask, outcome}, i) => ({ask, outcome, given: inWords(asked[i], given[i]), again: wrong.has(i)}))
            .filter(({again}) => wrong.size === 0 || again),
        );
        if (wrong.size === 0 && kept.some(({outcome}) => outcome === "wrong"))
          return giveHints(event.currentTarget, kept);
        end(kept);
        say(asked.map((question, i) => inLanguage(resultWords(question, kept[i]))).join(" "));
      },
    },
    h("h3", {}, "What do you expect?"),
    asked.map((question, i) =>
      h(
        "fieldset",
        {
          class: i === first && "active",
          focusin: (event) => question.kind === "nodes" && activate(event.currentTarget),
        },
        h("legend", {}, question.ask),
        fieldsOf[question.kind](question, (value) => take(i, value), `q${i}`),
      ),
    ),
    h(
      "p",
      {class: "buttons"},
      check,
      h("button", {type: "button", class: "link", click: skip}, "Skip, and show the step"),
    ),
    state.class &&
      exampleOf().lesson &&
      h("p", {class: "hint"}, "Your answers are counted for the class, without names."),
  );
}

function activate(set) {
  for (const other of document.querySelectorAll("#asked fieldset")) other.classList.toggle("active", other === set);
  markChosen();
}

// fieldsOf are the controls of each kind of question; take gets what is given, or undefined while that is not whole.
const fieldsOf = {
  number({fields = []}, take, id) {
    const names = fields.length > 0 ? fields : [""];
    /** @type {HTMLInputElement[]} */
    const inputs = names.map((name, i) =>
      h("input", {
        type: "number",
        min: "0",
        inputmode: "numeric",
        "aria-label": name || "number of pods",
        "data-focus": `${id} ${i}`,
        autocomplete: "off",
        input: () => take(inputs.every(({value}) => /^\d+$/.test(value)) ? inputs.map(whole) : undefined),
      }),
    );
    const whole = ({value}) => String(Number(value));
    return h(
      "p",
      {class: "numbersasked"},
      names.map((name, i) => h("label", {}, name && h("b", {}, name), inputs[i])),
    );
  },
  nodes(_, take, id) {
    const nodes = nodesOf[view.step].map(({name}) => name);
    const none = "";
    const changed = (event) => {
      const set = event.target.closest("fieldset"),
        all = [...set.querySelectorAll("input")];
      for (const box of all)
        if (event.target.checked && (event.target.value === none) !== (box.value === none)) box.checked = false;
      const chosen = all.filter(({checked}) => checked).map(({value}) => value);
      take(chosen.length === 0 ? undefined : chosen.filter((name) => name !== none).sort());
      activate(set);
    };
    return h(
      "p",
      {class: "nodesasked" + (nodes.length > LISTED ? " many" : "")},
      [...nodes, none].map((name, i) =>
        h(
          "label",
          {class: "toggle"},
          h("input", {type: "checkbox", value: name, "data-focus": `${id} ${i}`, change: changed}),
          name || "no node",
        ),
      ),
      h("small", {}, "The nodes on the map can be clicked, too."),
    );
  },
  holds: (_, take, id) => choices(["yes", "no"], (value) => take([value]), id),
  notOn: ({fields}, take, id) => choices(fields, (value) => take([value]), id),
  message: ({fields}, take, id) =>
    choices(
      [...fields, ""],
      (value) => take([value]),
      id,
      (value) => value || "nothing: no pod is Pending",
    ),
};

const choices = (values, take, id, words = (value) => value) =>
  h(
    "p",
    {class: "choicesasked"},
    values.map((value, i) =>
      h(
        "label",
        {class: "toggle"},
        h("input", {type: "radio", name: id, value, "data-focus": `${id} ${i}`, change: () => take(value)}),
        words(value),
      ),
    ),
  );

const signs = {right: "✓", equal: "✓", wrong: "✕"};

// resultWords say what was given for a question, and whether it is right.
const resultWords = (question, {given, outcome, again}) =>
  `${outcome === "wrong" ? "Not right" : again ? "Right, at the second try" : "Right"}: ${inWords(question, given)}.`;

// whyPart is the answer of the run, and why it is so, as long as the scenario is the one that the reason is about.
const whyPart = ({said, why}) =>
  h(
    "p",
    {class: "why"},
    reasonOf({said, why}).map((block) => element(block)),
    isChanged() &&
      why !== said &&
      h("i", {}, " You changed the scenario. The lesson has a reason for how it came: reset to read it."),
  );

// resultPart is how the questions of the step in view were answered, for as long as they are what is asked.
export function resultPart() {
  const name = state.report?.steps[view.step]?.name,
    kept = answeredIn(name) ?? [],
    asked = questionsOf(name);
  const shown = kept.flatMap((one) => {
    const question = asked.find(({ask}) => ask === one.ask);
    if (!question) return [];
    return [[question, {...one, outcome: judge(question, one.given)}]]; // by what the scenario is now
  });
  if (shown.length === 0) return skippedPart(asked);
  const wrong = shown.filter(([, {outcome}]) => outcome === "wrong").length;
  return h(
    "div",
    {class: "predict " + (wrong === 0 ? "right" : wrong === shown.length ? "wrong" : "some"), tabindex: "-1"},
    h(
      "ul",
      {class: "results"},
      shown.map(([question, one]) =>
        h(
          "li",
          {class: one.outcome === "wrong" ? "bad" : "good"},
          h("span", {class: "sign", "aria-hidden": "true"}, signs[one.outcome] + " "),
          h("b", {}, question.ask),
          " ",
          resultWords(question, one),
          whyPart(question),
        ),
      ),
    ),
  );
}

// skippedPart has the questions that were skipped, each with its answer for who asks for it.
const skippedPart = (asked) =>
  answeredIn(state.report?.steps[view.step]?.name) &&
  asked.length > 0 &&
  h(
    "div",
    {class: "skipped"},
    asked.map((question) => h("details", {}, h("summary", {}, question.ask), whyPart(question))),
  );

// closingPart is the end of a lesson: how each step was answered, and the lesson that comes next.
export function closingPart() {
  const {asked, right} = progress.count(lessonName());
  const lessons = state.examples.filter(({lesson}) => lesson),
    next = lessons[lessons.findIndex(({name}) => name === state.example) + 1];
  return [
    h("h2", {tabindex: "-1"}, asked > 0 ? `${right} of ${count(asked, "answer")} right` : "The end of the lesson"),
    h(
      "ol",
      {class: "closing"},
      steps.map(({name}, i) => {
        const kept = answeredIn(name),
          wrong = (kept ?? []).filter(({outcome}) => outcome === "wrong");
        const words = !kept
          ? "not answered"
          : kept.length === 0
            ? "skipped"
            : wrong.length === 0
              ? kept.some(({again}) => again)
                ? "right at the second try"
                : "right"
              : `${kept.length - wrong.length} of ${kept.length} right`;
        return h(
          "li",
          {},
          h("button", {type: "button", class: "link", click: () => show(i)}, name),
          h("span", {class: words.startsWith("right") ? "good" : "warn"}, ` ${words}`),
          wrong.length > 0 &&
            h(
              "ul",
              {},
              wrong.map(({ask}) => h("li", {}, ask)),
            ),
        );
      }),
    ),
    state.example.startsWith("lessons/") &&
      h(
        "p",
        {class: "buttons"},
        next && h("a", {class: "button", id: "nextlesson", href: fragmentOf(next.name)}, `Next: ${next.title}`),
        h("a", {href: HOME}, "All lessons"),
      ),
  ];
}

// progressPart says how far the reader is in the lesson, with a button to begin again.
export function progressPart() {
  const {steps: done, asked, right} = progress.count(lessonName());
  if (done === 0) return null;
  return h(
    "p",
    {class: "hint progress"},
    `${done} of ${count(steps.length, "step")} done` +
      (asked > 0 ? `, ${right} of ${count(asked, "answer")} right. ` : ". "),
    h(
      "button",
      {
        type: "button",
        class: "link",
        "data-focus": "begin again",
        click: () => {
          progress.forget(lessonName());
          show(0);
        },
      },
      "Begin again",
    ),
  );
}
