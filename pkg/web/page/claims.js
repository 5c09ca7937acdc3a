// What the reader changed of a scenario that has words about itself: its levers, and with them its claims.
//
//   leversChanged(first, input, step, nodes?) → [{of, label, from, to}]
//       the levers of the step that have another value than in the input as it came
//   voidClaims(report, first, input)
//       sets changed on each expectation that is not met and stands in the input as it came: it is no mistake
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

export function voidClaims(report, first, input) {
  const claims = (of) => {
    const {scenario} = scenarioOf(of);
    const found = new Map([["", JSON.stringify(scenario.expect)]]);
    for (const step of listOf(scenario.steps)) found.set(step?.name, JSON.stringify(step?.expect));
    return found;
  };
  const [before, after] = [claims(first), claims(input)];
  for (const step of report.steps) {
    const same = before.get(step.name) === after.get(step.name) && before.get("") === after.get("");
    for (const one of step.expectations ?? []) if (!one.met && same) one.changed = true;
  }
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
