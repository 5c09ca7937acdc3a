// A challenge: its goal is what it expects, and it is reached by changing it, at a price.

import {changesBetween, steps} from "#shared/data.js";
import {h} from "#shared/dom.js";
import {count, listed} from "#shared/words.js";
import {sameClaims} from "./claims.js";
import {exampleOf, isChanged, state} from "./state.js";

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

// goalPart says whether the goal of the challenge is reached, and what it cost.
export function goalPart() {
  if (!exampleOf().challenge || !state.start || !state.report) return null;
  const all = state.report.steps.flatMap((step) => step.expectations ?? []),
    open = all.filter(({met}) => !met);
  const own = sameClaims(state.first, state.input);
  const reached = own && open.length === 0;
  return h(
    "div",
    {class: "verdict goal " + (reached ? "met" : "open"), role: "status"},
    h(
      "p",
      {},
      h("b", {}, reached ? "✓ The goal is reached." : own ? "The goal is not reached yet." : "You changed the goal."),
      !own
        ? " Put back what the steps expect."
        : steps.length > 0 && open.length > 0
          ? ` ${all.length - open.length} of ${all.length} hold.`
          : "",
    ),
    isChanged() && h("p", {class: "hint"}, `Cost so far: ${costOf(state.start, state.report)}.`),
  );
}
