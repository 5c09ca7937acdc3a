// What the reader changed of a scenario that has words about itself: its levers, and with them its claims.
//
//   leversChanged(first, input, step, nodes?) → [{of, label, from, to}]
//       the levers of the step that have another value than in the input as it came
//   openClaims(report, first, input, open)
//       sets open on each expectation that is not met and stands in the input as it came: that is no mistake. CHANGED and
//       TODO are what open may be: {sign, word, words}
//   sameClaims(first, input) → whether all steps are there, with what is expected of them
//   follow(text, changes) → {from, to} | undefined
//       what a word of the lesson is by now, such as hard, or a name or value of the YAML text

import {read} from "./levers.js";
import {listOf, scenarioOf} from "./sources.js";

const FIELDS = {
  hard: "requiredDuringSchedulingIgnoredDuringExecution",
  soft: "preferredDuringSchedulingIgnoredDuringExecution",
  spread: "topologySpreadConstraints",
  none: "",
};

export function leversChanged(first, input, step, nodes) {
  const before = new Map(read(first, step, nodes).levers.map((lever) => [lever.id, lever]));
  return read(input, step, nodes)
    .levers.map((lever) => ({
      of: lever.of.workload ?? "",
      label: lever.label,
      from: before.get(lever.id)?.value,
      to: lever.value,
    }))
    .filter(({from, to}) => from !== undefined && from !== to);
}

export const CHANGED = {sign: "≠", word: "changed", words: "changed by you"};
export const TODO = {sign: "○", word: "to do", words: "not yet"};

export function openClaims(report, first, input, open) {
  const [before, after] = [claimsOf(first), claimsOf(input)];
  for (const step of report.steps) {
    const same = before.get(step.name) === after.get(step.name) && before.get("") === after.get("");
    for (const one of step.expectations ?? []) if (!one.met && same) one.open = open;
  }
}

export function sameClaims(first, input) {
  const [before, after] = [claimsOf(first), claimsOf(input)];
  return before.size === after.size && [...before].every(([name, text]) => after.has(name) && after.get(name) === text);
}

function claimsOf(of) {
  const {scenario} = scenarioOf(of);
  const found = new Map([["", JSON.stringify(scenario.expect)]]);
  for (const step of listOf(scenario.steps)) found.set(step?.name, JSON.stringify(step?.expect));
  return found;
}

export function follow(text, changes) {
  for (const {label, from, to} of changes) {
    if (text === String(from)) return {from: text, to: String(to)};
    if (text.toLowerCase() === `${label}: ${from}`.toLowerCase()) {
      const name = text.slice(0, text.indexOf(":"));
      return {from: text, to: `${name}: ${to}`};
    }
    if (label === "Rule" && text === FIELDS[from]) return {from: text, to: FIELDS[to] || "no rule"};
  }
  return undefined;
}
