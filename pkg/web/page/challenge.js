// A challenge: its goal is what it expects, and it is reached by changing it, at a price.
//
//   challenging(call, changed)
//       is called once, with the engine and with what takes an input that the page wrote
//   goalPart() → the goal beside the map, with what of it holds, the price, and the solution for who asks for it
//   costOf(before, after) → text
//   linesBetween(a, b) → {gone, come}, the lines between the first and the last that differ

import {changesBetween} from "#shared/data.js";
import {h, say} from "#shared/dom.js";
import {count, listed} from "#shared/words.js";
import {sameClaims} from "./claims.js";
import {exampleOf, isChanged, state} from "./state.js";

let call,
  changed = (_) => {};

export const challenging = (engine, then) => ([call, changed] = [engine, then]);

// costOf is what lies between two reports, in words: pods that are elsewhere and nodes, after the last steps, and the
// replicas of workloads in the step with the largest difference. The pods that a rollout adds for a while cost nothing.
export function costOf(before, after) {
  const [was, is] = [before, after].map((report) => report.steps.at(-1));
  const nodes = (report) => report.steps.findLast((step) => step.nodes)?.nodes.length ?? report.nodes?.length ?? 0;
  const changes = changesBetween(was, is);
  const more = (n, noun) => n !== 0 && `${count(Math.abs(n), noun)} ${n > 0 ? "more" : "fewer"}`;
  const parts = [
    count(
      changes.reduce((sum, {moved}) => sum + moved, 0),
      "pod",
    ) + " moved",
    more(nodes(after) - nodes(before), "node"),
    more(replicasBetween(before, after), "replica"),
  ].filter(Boolean);
  return listed(parts);
}

// replicasBetween is how many replicas more the workloads have, or fewer, in the step in which that is the most.
export function replicasBetween(before, after) {
  const replicas = (step) => (step?.workloads ?? []).reduce((sum, {desired}) => sum + desired, 0);
  return before.steps
    .map((was) => [was, after.steps.find(({name}) => name === was.name)])
    .filter(([, is]) => is)
    .map(([was, is]) => replicas(is) - replicas(was))
    .reduce((most, one) => (Math.abs(one) > Math.abs(most) ? one : most), 0);
}

export function goalPart() {
  if (!exampleOf().challenge || !state.start || !state.report) return null;
  const all = state.report.steps.flatMap((step) => step.expectations ?? []),
    met = all.filter((one) => one.met).length;
  const own = sameClaims(state.first, state.input);
  const reached = own && met === all.length,
    solved = isSolution();
  return h(
    "div",
    {class: "verdict goal " + (reached ? "met" : "open"), role: "status"},
    h(
      "p",
      {},
      h("b", {}, reached ? "✓ The goal is reached." : own ? "The goal is not reached yet." : "You changed the goal."),
      !own
        ? " Put back what the steps expect."
        : reached
          ? solved && " This is the solution."
          : ` ${met} of ${all.length} hold.`,
    ),
    h(
      "ul",
      {class: "ticks"},
      state.report.steps.flatMap((step) => (step.expectations ?? []).map(goalOf(step))),
    ),
    isChanged() && h("p", {class: "hint"}, `Cost so far: ${costOf(state.start, state.report)}.`),
    solved
      ? solutionPart()
      : h(
          "p",
          {},
          h(
            "button",
            {type: "button", class: "link", click: () => showSolution().catch(({message}) => say(message))},
            "Show a solution",
          ),
        ),
  );
}

// goalOf is a part of the goal, with the step where it has to hold if there are several.
const goalOf = (step) => (one) =>
  h(
    "li",
    {class: one.met ? "good" : "hint"},
    h("span", {class: "sign", role: "img", "aria-label": one.met ? "met" : "not yet"}, one.met ? "✓ " : "○ "),
    state.report.steps.length > 1 && `${step.name}: `,
    one.want,
    !one.met && `; got ${one.got}`,
  );

const isSolution = () => Boolean(state.solution) && state.input.files[state.input.main] === state.solution;

// showSolution writes the solution as a change of the reader's, which Undo takes back.
async function showSolution() {
  const {input} = await call("load", {example: state.example, solution: true});
  state.solution = input.files[input.main];
  changed({...state.input, files: {...state.input.files, [state.input.main]: state.solution}});
}

// solutionPart is what the solution changes of the challenge as it came.
function solutionPart() {
  const {gone, come} = linesBetween(state.first.files[state.first.main], state.solution);
  return h(
    "pre",
    {class: "difference", tabindex: "0", "aria-label": "What the solution changes"},
    gone.map((line) => h("del", {}, line)),
    come.map((line) => h("ins", {}, line)),
  );
}

export function linesBetween(a, b) {
  const [from, to] = [a, b].map((text) => text.split("\n"));
  let first = 0,
    last = 0;
  while (first < Math.min(from.length, to.length) && from[first] === to[first]) first++;
  while (last < Math.min(from.length, to.length) - first && from.at(-1 - last) === to.at(-1 - last)) last++;
  const cut = (lines) => lines.slice(first, lines.length - last);
  return {gone: cut(from), come: cut(to)};
}
