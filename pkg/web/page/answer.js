// The answer: it is asked for after each edit, and drawn beside the map. The old one stays until the new one is there.

import {load, marks, steps} from "#shared/data.js";
import {fill, h, keepingFocus, many, podKey, say, waiting} from "#shared/dom.js";
import {radiusPart} from "#shared/failure.js";
import {drawMap} from "#shared/stage.js";
import {tabs} from "#shared/steps.js";
import {bindingsPart, changed, nodesPart, podsPart, toldOf, whyOf, workloadsPart} from "#shared/tables.js";
import {sayFailed, show, view} from "#shared/view.js";
import {sameWait} from "#shared/waits.js";
import {count, number} from "#shared/words.js";
import {stillThere} from "./address.js";
import {blastOf, forgetFailures} from "./breaking.js";
import {changesSince} from "./changes.js";
import {goalPart} from "./challenge.js";
import {CHANGED, openClaims, TODO} from "./claims.js";
import {hidden, predictions} from "./predicting.js";
import {exampleOf, isChanged, state} from "./state.js";
import {drawWalk, stopWalk} from "./walking.js";

// The longest between the last key and the question, in milliseconds; where an answer takes less, it is half of that.
const PAUSE = 600;

const at = (id) => document.getElementById(id);

let call,
  drawn = () => {},
  notice = (_) => {},
  timer,
  running,
  troubled = false,
  took = 0;

// answering is called once; drawn is called whenever an answer or its problems are on the page, and notice with what went
// wrong elsewhere than in the scenario.
export const answering = (engine, then, tell) => ([call, drawn, notice] = [engine, then, tell]);

// askSoon asks once the reader pauses; askNow does not wait.
export function askSoon() {
  clearTimeout(timer);
  timer = setTimeout(askNow, Math.min(PAUSE, took / 2));
}

export async function askNow() {
  stopAsking();
  const mine = (running = new AbortController()),
    aim = wanted,
    began = performance.now();
  document.body.classList.add("waiting");
  try {
    const {challenge} = exampleOf();
    if (challenge && !state.start && isChanged())
      state.start = (await call("run", {input: state.first}, mine.signal)).report;
    const {report, problems} = await call("run", {input: state.input}, mine.signal);
    if (running !== mine) return;
    if (challenge) state.start ??= report;
    take(report, problems ?? [], aim);
    took = performance.now() - began;
    if (troubled) troubled = (notice(""), false);
    document.body.classList.remove("waiting");
    if (report && (predictions.on || !document.getElementById("builder").hidden)) await askQuiz(mine);
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    if (error.kind === "internal") troubled = (notice(error.message), true);
    else take(null, [{file: state.input.main, line: 0, message: error.message}]);
  }
  document.body.classList.remove("waiting");
}

// askQuiz asks for the questions of the lesson, with what is right.
export async function askQuiz(mine = (running = new AbortController())) {
  const {steps: quiz} = await call("quiz", {input: state.input}, mine.signal);
  if (running !== mine) return;
  state.quiz = quiz ?? [];
  show(view.step, view.failed);
}

// stopAsking is for what nobody waits for any more.
export function stopAsking() {
  clearTimeout(timer);
  running?.abort();
}

function take(report, problems, aim) {
  state.problems = problems;
  document.body.classList.toggle("stale", !report);
  document.body.classList.toggle("starting", !report && !state.report);
  if (report) {
    state.before = state.report;
    state.report = report;
    const {challenge} = exampleOf();
    if (state.example && (challenge || isChanged()))
      openClaims(report, state.first, state.input, challenge ? TODO : CHANGED);
    state.quiz = null;
    forgetFailures();
    present(aim);
  }
  drawn();
}

// forget is for another scenario: what changed since the one before it says nothing.
export function forget() {
  state.report = state.before = state.quiz = state.start = state.solution = null;
  Object.assign(view, {step: 0, failed: null, found: null, marked: null});
  view.open.clear();
}

// wanted is the step and the failure that the next question's answer is to be shown with: those of a link, or a new step.
let wanted;
export const want = (of) => {
  wanted = of;
};

// present shows the answer at the step and with the failure that its question aimed at, or else with those in view. A step
// that is wanted since that question waits for the next answer, which has it.
function present(aim) {
  const name = aim?.step ?? steps[view.step]?.name,
    failed = aim ? (aim.failed ?? null) : view.failed;
  if (wanted === aim) wanted = undefined;
  load({report: state.report, blast: blastOf(), live: true});
  const bar = at("stepbar");
  bar.replaceChildren();
  if (steps.length === 0) return empty();
  fill(bar, {}, [tabs()]);
  const same = steps.findIndex((step) => step.name === name);
  if (view.marked && !marks.has(view.marked)) view.marked = null;
  const toDo = view.step === Infinity ? steps.findIndex((one) => one.expectations?.some(({met}) => !met)) : -1;
  const step = same >= 0 ? same : toDo >= 0 ? toDo : Math.min(view.step, steps.length - 1);
  show(step, stillThere(failed, step));
}

function empty() {
  for (const id of ["map", "panel", "why", "told", "tables", "since"]) at(id).replaceChildren();
  at("verdict").replaceChildren(h("p", {class: "verdict open"}, "The scenario has no step yet."));
}

// represent draws anew what failures change: the data has more of them.
export function represent() {
  load({report: state.report, blast: blastOf(), live: true});
  keepingFocus(drawMap);
  drawWalk();
  if (view.failed) sayFailed();
  at("tables").querySelector(".part-radius")?.remove();
  const radius = radiusPart(steps[view.step]);
  if (radius) at("tables").prepend(radius);
}

export function drawStep() {
  // A question had the step as it was before.
  if (steps !== state.report.steps) load({report: state.report, blast: blastOf(), live: true});
  const step = steps[view.step];
  const draw = (id, children) => {
    at(id).replaceChildren();
    fill(at(id), {}, [children]);
  };
  stopWalk();
  keepingFocus(drawMap);
  draw("verdict", [verdictOf(step), goalPart()]);
  draw("since", sinceOf(step));
  draw("why", [pendingOf(step), startingOf(step), whyOf(step)]);
  draw("told", toldOf(exampleOf().challenge ? {...step, expectations: []} : step, view.step)); // the goal has them
  draw("tables", [radiusPart(step), bindingsPart(step), workloadsPart(step), podsPart(step), nodesPart(step)]);
}

// verdictOf says first how the step went, and then how all of them did.
function verdictOf(step) {
  const {pods, running, pending = 0, notCreated = 0, notReady = 0} = step.summary;
  const expected = step.expectations ?? [],
    missed = expected.filter((one) => !one.met && !one.open).length,
    open = expected.filter((one) => one.open);
  const all = steps.flatMap((one) => one.expectations ?? []),
    met = all.filter((one) => one.met).length;
  const words =
    pods === 0
      ? "No pods."
      : pending === 0 && notCreated === 0 && notReady === 0
        ? pods === 1
          ? "The one pod runs."
          : `All ${number(pods)} pods run.`
        : [
            `${number(running)} of ${count(pods, "pod")} ${running === 1 ? "runs" : "run"}`,
            pending > 0 && `${number(pending)} Pending`,
            notCreated > 0 && `${number(notCreated)} refused`,
            notReady > 0 && `${number(notReady)} on lost nodes`,
          ]
            .filter(Boolean)
            .join(", ") + ".";
  const outcome =
    missed > 0 ? "failed" : open.length > 0 ? "open" : expected.length > 0 ? "met" : pending > 0 ? "waits" : "open";
  return h(
    "div",
    {class: "verdict " + outcome},
    h(
      "p",
      {},
      outcome === "failed"
        ? h("span", {class: "sign", "aria-hidden": "true"}, "✕ ")
        : outcome === "met" && h("span", {class: "sign", "aria-hidden": "true"}, "✓ "),
      h("b", {}, words),
      expected.length > 0 &&
        h(
          "span",
          {},
          missed > 0
            ? ` ${missed} of ${count(expected.length, "expectation")} not met.`
            : open.length > 0
              ? open[0].open === TODO
                ? ` ${count(open.length, "part")} of the goal ${open.length === 1 ? "is" : "are"} not reached yet.`
                : ` ${count(open.length, "claim")} of the lesson changed by you.`
              : ` ${expected.length === 1 ? "As" : "All"} expected.`,
        ),
    ),
    h(
      "p",
      {class: "hint"},
      steps.length > 1 && `Step ${view.step + 1} of ${steps.length}: `,
      h("b", {}, step.name),
      all.length > expected.length &&
        !steps.some(({name}) => hidden(name)) &&
        ` · ${number(met)} of ${number(all.length)} expectations met in all steps`,
    ),
  );
}

// sinceOf is how the step differs from what it was in the answer before.
function sinceOf(step) {
  const since = changesSince(state.before, state.report, step.name);
  if (!since) return null;
  if (since.changes.length === 0) return h("p", {class: "hint"}, "Nothing moved since your last change.");
  for (const chip of at("map").querySelectorAll("[data-pod]"))
    chip.classList.toggle("fresh", since.placed.has(chip.getAttribute("data-pod")));
  return changed("Since your last change", since.changes);
}

// pendingOf are the pods that wait for a node, by what is said of them, and startingOf those that have one and have not
// started.
const pendingOf = (step) =>
  waitingOf(
    "Pending",
    (step.pods ?? []).filter((pod) => !pod.node),
  );
const startingOf = (step) =>
  waitingOf(
    "Not started",
    (step.pods ?? []).filter((pod) => pod.waits),
  );

function waitingOf(title, all) {
  const groups = Map.groupBy(all, (pod) => JSON.stringify([pod.namespace, pod.workload, sameWait(pod)]));
  if (groups.size === 0) return null;
  const list = h("ul", {});
  return h(
    "div",
    {class: "words warn"},
    h("h4", {}, title),
    many(list, [...groups.values()], 5, (some) =>
      list.append(
        ...some.map((pods) =>
          h(
            "li",
            {},
            h(
              "p",
              {},
              pods
                .slice(0, 3)
                .map((pod) =>
                  h("button", {type: "button", class: "link", "data-pod": podKey(pod), title: "Explain"}, pod.name),
                )
                .flatMap((button, i) => (i > 0 ? [", ", button] : [button])),
              pods.length > 3 && ` and ${number(pods.length - 3)} more`,
            ),
            waiting(pods[0]),
          ),
        ),
      ),
    ),
  );
}

// announce tells a screen reader how the step went.
export const announce = () =>
  say([...at("verdict").querySelectorAll("p")].map((line) => line.textContent.replace(/^[✓✕] /, "")).join(" "));
