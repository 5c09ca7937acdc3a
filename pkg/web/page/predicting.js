// Predict, then run: before a step's answer is shown, the reader says where its pods will go, one by one.

import {domainOf, load, nodesOf, qualified, steps} from "#shared/data.js";
import {fill, h, say} from "#shared/dom.js";
import {cycleOf} from "#shared/scores.js";
import {drawMap} from "#shared/stage.js";
import {show, view} from "#shared/view.js";
import {HOSTNAME, noun, number} from "#shared/words.js";
import {judge, NOWHERE, questions, score} from "./predict.js";
import {state} from "./state.js";

const QUESTIONS = 4; // of the pods of a step
const KEPT = "faultline predictions"; // in the session's storage

export const predictions = {on: false};

const answered = new Set(); // steps whose answer the reader has seen
const session = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
let asked; // {name, all, at, judged}: the questions of the step in view, which one it is, and what came of it

const at = (id) => document.getElementById(id);

// forgetPredictions is for another scenario; restart for another answer.
export function forgetPredictions() {
  answered.clear();
  restart();
}

export const restart = () => {
  asked = undefined;
};

// wasAnswered reports whether the reader has said where the pods of the step would go, or has seen where.
export const wasAnswered = (step) => answered.has(step);

// isAsked reports whether the step in view has a question before its answer.
export function isAsked() {
  const step = state.report?.steps[view.step];
  if (!predictions.on || !step || answered.has(step.name)) return false;
  if (asked?.name !== step.name)
    asked = {name: step.name, all: questions(state.report, step.name).slice(0, QUESTIONS), at: 0, judged: null};
  return asked.all.length > 0;
}

// drawQuestion shows the cluster as the scheduler found it, with the pod that it is about.
export function drawQuestion() {
  const {all, judged} = asked,
    question = all[asked.at],
    step = state.report.steps[view.step];
  const pods = question.pods.map((pod) => ({...pod, status: "Running"}));
  const waits = judged ? {} : {message: "Where will it go?", reason: undefined, untried: undefined, waits: undefined};
  const pod =
    judged && question.node ? {...question.pod} : {...question.pod, ...waits, node: undefined, nominated: undefined};
  const before = {...step, pods: [...pods, pod], requested: undefined, nodes: nodesOf[view.step]};
  load({report: {...state.report, steps: state.report.steps.toSpliced(view.step, 1, before)}, live: true});
  Object.assign(view, {failed: null, marked: null, found: judged ? {pod: question.pod, node: question.node} : null});
  drawMap();
  const scores = at("scores");
  scores.replaceChildren();
  if (!judged) return;
  fill(scores, {}, [cycleOf(question.pod.cycle)]);
  if (judged.choice !== question.node)
    for (const name of document.querySelectorAll("#map .node .name"))
      if (name.textContent === judged.choice) name.closest(".node").classList.add("guessed");
}

// pick takes a click on the map for an answer; it reports whether it did.
export function pick(key, domain) {
  if (!isAsked()) return false;
  if (asked.judged) return true;
  if (key !== HOSTNAME) say(`Choose a node of ${noun(key)} ${domain}.`);
  else choose(nodesOf[view.step].find((node) => domainOf(node, HOSTNAME) === domain)?.name);
  return true;
}

function choose(node) {
  if (node === undefined) return;
  asked.judged = judge(asked.all[asked.at], node);
  session.push({outcome: asked.judged.outcome, behind: asked.judged.behind});
  sessionStorage.setItem(KEPT, JSON.stringify(session));
  redraw();
  say(`${titles[asked.judged.outcome]}. ${asked.judged.words}`);
}

function next() {
  asked.at++;
  asked.judged = null;
  if (asked.at >= asked.all.length) reveal();
  else redraw();
}

function reveal() {
  answered.add(asked.name);
  redraw();
}

const redraw = () => show(view.step);

const titles = {right: "Right", tie: "As good", wrong: "No"};
const signs = {right: "✓", tie: "≈", wrong: "✕"};

// questionPart is the question in the lesson's panel, or what came of it.
export function questionPart() {
  const {all, judged} = asked,
    question = all[asked.at];
  const more = all.length - asked.at - 1;
  const kept = h("p", {class: "hint"}, session.length > 0 && `This session: ${score(session).words}.`);
  if (!judged) {
    return h(
      "div",
      {class: "predict"},
      h("h4", {}, "Where will it go?"),
      h(
        "p",
        {},
        h("b", {}, qualified(question.pod.namespace, question.pod.name)),
        all.length > 1 && `, pod ${asked.at + 1} of ${all.length}`,
        ". Choose a node on the map, or:",
      ),
      h(
        "p",
        {class: "buttons"},
        h("button", {type: "button", class: "button", click: () => choose(NOWHERE)}, "It stays Pending"),
        h("button", {type: "button", class: "link", click: reveal}, "Show the answer"),
      ),
      kept,
    );
  }
  return h(
    "div",
    {class: "predict " + judged.outcome},
    h(
      "h4",
      {},
      h("span", {"aria-hidden": "true"}, signs[judged.outcome] + " "),
      titles[judged.outcome],
      ": it ",
      question.node ? ["goes to ", h("b", {}, question.node)] : "stays Pending",
    ),
    h("p", {}, /[.!]$/.test(judged.words) ? judged.words : judged.words + "."),
    decidedPart(judged.decided),
    h(
      "p",
      {class: "buttons"},
      h("button", {type: "button", class: "button", click: next}, more > 0 ? "Next pod" : "See the answer"),
    ),
    kept,
  );
}

function decidedPart(decided) {
  if (decided.length === 0) return null;
  return h(
    "ul",
    {class: "decided"},
    decided.slice(0, 4).map((one) =>
      h(
        "li",
        {},
        h("b", {}, one.plugin),
        one.points !== undefined && ` ${one.points > 0 ? "+" : "−"}${number(Math.abs(one.points))}`,
        one.message && `: ${one.message}`,
        one.parts
          ?.slice(0, 3)
          .map((part) =>
            h(
              "small",
              {},
              `${part.rule}${part.topologyKey ? ` over ${noun(part.topologyKey)}` : ""}: ` +
                `${part.raw > 0 ? "+" : "−"}${number(Math.abs(part.raw))} raw`,
            ),
          ),
      ),
    ),
  );
}
