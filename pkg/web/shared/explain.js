// Why single pods are where they are, and what would have changed that.

import {explain, live, marks, qualified, steps, workloadOf} from "./data.js";
import {causes, chip, h, many, section, table, waiting} from "./dom.js";
import {stepLink} from "./links.js";
import {cycleOf} from "./scores.js";
import {mustWait} from "./waits.js";
import {number} from "./words.js";

export function explainPart() {
  if (!explain) return null;
  const all = h("div", {class: "explanations"});
  if (explain.binding) all.append(bindingOf(explain.binding));
  many(all, explain.pods, 10, (some) => all.append(...some.map((pod) => explanation(pod, pod === explain.pods[0]))));
  return section("explain", "Why these pods are where they are", all);
}

// bindingOf is what Karmada has decided about the workload: its clusters, and why.
function bindingOf(binding) {
  const scheduled = binding.reason === "Success";
  const replicas = (cluster) =>
    cluster.filter ? "refused" : cluster.selected ? number(cluster.replicas) : "not selected";
  const running = (cluster) =>
    cluster.running + cluster.pending === 0
      ? "–"
      : number(cluster.running) + " running" + (cluster.pending > 0 ? `, ${number(cluster.pending)} Pending` : "");
  const refused = binding.clusters?.some((cluster) => cluster.filter);
  const clusters = (binding.clusters ?? []).map((cluster) => [
    h("b", {}, cluster.cluster),
    cluster.filter ? "–" : number(cluster.score),
    cluster.filter ? "–" : number(cluster.room),
    replicas(cluster),
    running(cluster),
    ...(refused ? [cluster.filter ? [cluster.refusal, h("small", {class: "source"}, cluster.filter)] : ""] : []),
  ]);
  const gets = (targets) =>
    targets.map((target) => target.cluster + (target.replicas > 0 ? ` (${number(target.replicas)})` : "")).join(", ");
  return h(
    "div",
    {class: "card explanation binding"},
    h(
      "p",
      {},
      h("b", {}, binding.template),
      " ",
      scheduled
        ? [
            "→ ",
            h(
              "b",
              {},
              gets(
                (binding.clusters ?? []).filter(
                  (cluster) => cluster.selected && (cluster.replicas > 0 || !binding.division),
                ),
              ),
            ),
          ]
        : h("span", {class: "state warn"}, "Not scheduled by Karmada"),
      " ",
      h(
        "small",
        {},
        steps.some((step) => step.name === binding.step)
          ? ["in step ", stepLink(binding.step)]
          : `in step ${binding.step}`,
      ),
    ),
    !scheduled && h("p", {class: "message"}, `${binding.reason}: ${binding.message}`),
    h("p", {}, `Claimed by ${binding.policy}` + (binding.division ? `; replicas: ${binding.division}` : "")),
    table(
      "Clusters",
      [
        "Cluster",
        {text: "Score", number: true},
        {text: "Room", number: true},
        {text: "Replicas", number: true},
        "Pods",
        ...(refused ? ["Why not"] : []),
      ],
      clusters,
    ),
    binding.takings?.length > 0 &&
      h(
        "div",
        {},
        h("h4", {}, "With what Karmada takes it"),
        table(
          "Changes with which Karmada takes it",
          ["Change, tried", "The clusters then"],
          binding.takings.map((taking) => [taking.change, gets(taking.clusters)]),
        ),
      ),
    !scheduled && !binding.takings?.length && h("p", {}, "No single change that was tried has Karmada take it."),
    binding.tried?.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `Tried without success (${binding.tried.length})`),
        h(
          "ul",
          {},
          binding.tried.map((change) => h("li", {}, change)),
        ),
      ),
  );
}

// explanation is what is known of a pod, with what the page has besides after its first sentence.
export function explanation(pod, open, more = null) {
  const mark = marks.get(workloadOf(pod));
  return h(
    "details",
    {class: "card explanation", open},
    h(
      "summary",
      {},
      mark && chip(mark),
      h("b", {}, qualified(pod.namespace, pod.name)),
      pod.node ? [" → ", h("b", {}, pod.node)] : [" ", h("span", {class: "state warn"}, "Pending")],
      h(
        "small",
        {},
        steps.some((step) => step.name === pod.step) ? ["in step ", stepLink(pod.step)] : `in step ${pod.step}`,
      ),
    ),
    mustWait(pod) && waiting(pod),
    causes(pod),
    pod.verdict && h("p", {class: "decided"}, pod.verdict),
    more,
    pod.asked?.length > 0 &&
      h(
        "ul",
        {class: "asked"},
        pod.asked.map((node) => h("li", {}, h("b", {}, `Why not ${node.node}? `), node.why)),
      ),
    pod.cycle && h("div", {}, h("h4", {}, "The scheduling cycle"), cycleOf(pod.cycle)),
    pod.story?.length > 0 &&
      h(
        "details",
        {open: !live},
        h("summary", {}, "In words, step by step"),
        h(
          "ol",
          {class: "story"},
          pod.story.map((sentence) => h("li", {}, sentence)),
        ),
      ),
    fixesOf(pod),
    flipsOf(pod),
    effectsOf(pod),
    pod.notes?.length > 0 &&
      h(
        "ul",
        {},
        pod.notes.map((note) => h("li", {}, note)),
      ),
  );
}

function fixesOf(pod) {
  if (!pod.fixes?.length && !pod.tried?.length) return null;
  return h(
    "div",
    {},
    h("h4", {}, "What would place it"),
    pod.fixes?.length > 0
      ? table(
          "Changes that place the pod",
          ["Change, applied after the step", {text: "Pending then", number: true}, "Price"],
          pod.fixes.map((fix) => [changeOf(fix), number(fix.pending), fix.price?.join("; ") || "–"]),
        )
      : h("p", {}, "No change that was tried places it."),
    pod.tried?.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `Tried without success (${pod.tried.length})`),
        h(
          "ul",
          {},
          pod.tried.map((change) => h("li", {}, change)),
        ),
      ),
  );
}

// changeOf is a change, and the commands that make it.
function changeOf(fix) {
  if (!fix.commands?.length) return fix.change;
  return h("details", {}, h("summary", {}, fix.change), h("pre", {}, fix.commands.join("\n")));
}

function flipsOf(pod) {
  if (!pod.flips?.length) return null;
  return h(
    "div",
    {},
    h("h4", {}, "With how little it would have gone elsewhere"),
    table(
      "Flip points",
      ["What changes", "As it is", "Would have to be", "The pod then goes to", "Looked at"],
      pod.flips.map((flip) => [
        [h("small", {class: "of"}, flip.of), " ", flip.subject],
        flip.from,
        flip.to || "none of those",
        flip.to ? flip.node || "no node" : "–",
        flip.searched,
      ]),
    ),
  );
}

function effectsOf(pod) {
  if (!pod.effects?.length) return null;
  return h(
    "div",
    {},
    h("h4", {}, "What each rule changes"),
    table(
      "Effects of rules",
      [
        "Rule",
        "What it does",
        "Who is elsewhere without it",
        {text: "Pending with", number: true},
        {text: "without", number: true},
      ],
      pod.effects.map((effect) => [
        [effect.rule, h("small", {class: "source"}, effect.path)],
        effect.words,
        effect.moved?.length > 0
          ? h(
              "ul",
              {},
              effect.moved
                .slice(0, 6)
                .map((move) => h("li", {}, `${move.pod}: ${move.from || "no node"} → ${move.to || "no node"}`)),
              effect.moved.length > 6 && h("li", {}, `and ${effect.moved.length - 6} more`),
            )
          : "nobody",
        number(effect.pending),
        number(effect.pendingWithout),
      ]),
    ),
  );
}
