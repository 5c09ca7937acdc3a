// Score tables: how plugins judged the nodes for one pod.

import {bar, h, parted, table} from "./dom.js";
import {count, figure, firsts, listed, noun, number} from "./words.js";

// scoresOf is what is known without a cycle: the chosen node's scores, and by how much they exceed the runner-up's.
export function scoresOf(decision) {
  const most = Math.max(1, ...decision.scores.map((score) => Math.abs(score.weighted)));
  return h(
    "div",
    {class: "cycle"},
    h(
      "p",
      {class: "hint"},
      `The chosen node's scores, by plugin, weighted` +
        (decision.runnerUp ? `; ahead is the difference to the best other node, ${decision.runnerUp}.` : "."),
    ),
    table(
      "Scores of the chosen node",
      ["Plugin", "Weighted", ...(decision.runnerUp ? [{text: "Ahead", number: true}] : [])],
      decision.scores.map((score) => [
        score.plugin,
        bar(Math.max(0, score.weighted) / most, number(score.weighted)),
        ...(decision.runnerUp ? [(score.ahead > 0 ? "+" : "") + number(score.ahead)] : []),
      ]),
    ),
  );
}

// cycleOf is a pod's whole way through one scheduling cycle.
export function cycleOf(cycle) {
  const candidates = cycle.candidates ?? [];
  const feasible = cycle.searched - (cycle.refusals ?? []).reduce((sum, refusal) => sum + refusal.count, 0);
  return h(
    "div",
    {class: "cycle"},
    h(
      "p",
      {class: "funnel"},
      h("b", {}, number(cycle.searched)),
      " searched → ",
      h("b", {}, number(Math.max(feasible, candidates.length))),
      " feasible → ",
      h("b", {}, number(cycle.scored)),
      " scored",
      candidates.length > 0 && cycle.scored === 0 && ": a single feasible node is taken unscored",
    ),
    refusalsOf(cycle),
    candidates.length > 0 && candidatesOf(cycle.scored, candidates),
    verdictsOf(cycle),
  );
}

function refusalsOf(cycle) {
  const refusals = cycle.refusals ?? [];
  if (refusals.length === 0) return null;
  return [
    h("h5", {}, "Refused"),
    table(
      "Refused nodes",
      ["Plugin", "Words", "Nodes", "Which"],
      refusals.map((refusal) => [
        refusal.plugin,
        refusal.message,
        bar(refusal.count / Math.max(1, cycle.searched), number(refusal.count), "warn"),
        firsts(refusal.nodes ?? [], 4) + (refusal.count > (refusal.nodes?.length ?? 0) ? ", …" : ""),
      ]),
    ),
  ];
}

// candidatesOf has a row for each feasible node and a column for each plugin that tells nodes apart.
function candidatesOf(scored, candidates) {
  const all = [...new Set(candidates.flatMap((candidate) => (candidate.scores ?? []).map((score) => score.plugin)))];
  const of = (candidate, plugin) => candidate.scores?.find((score) => score.plugin === plugin);
  const differs = (plugin) => new Set(candidates.map((candidate) => of(candidate, plugin)?.weighted)).size > 1;
  const plugins = all.filter(differs),
    same = all.filter((plugin) => !differs(plugin));
  const weights = new Map(
    candidates.flatMap((candidate) => (candidate.scores ?? []).map((score) => [score.plugin, score.weight])),
  );
  const best = candidates.filter((candidate) => candidate.rank === 1);
  const below = candidates.filter((candidate) => candidate.rank > 1).map((candidate) => candidate.total);
  const rows = candidates.map((candidate) =>
    h(
      "tr",
      {class: candidate.chosen ? "chosen" : ""},
      h("td", {class: "number"}, candidate.rank ? String(candidate.rank) : "–"),
      h("td", {class: "number total"}, number(candidate.total)),
      h("th", {scope: "row"}, candidate.node, candidate.chosen && h("span", {class: "state"}, "✓ chosen")),
      plugins.map((plugin) => h("td", {class: "score"}, scoreOf(of(candidate, plugin)))),
    ),
  );
  return [
    h("h5", {}, "Scores"),
    h(
      "p",
      {class: "hint"},
      "Each score is raw → normalised × weight = ",
      h("b", {}, "weighted"),
      ". ",
      best.length > 1
        ? `A tie: ${best.length} nodes have the top score.`
        : below.length > 0
          ? `The best is ahead by ${number(best[0].total - Math.max(...below))}.`
          : null,
      scored > candidates.length && ` ${number(scored - candidates.length)} more nodes were scored and are not listed.`,
    ),
    table(
      "Scores by node and plugin",
      [
        {text: "Rank", number: true},
        {text: "Total", number: true},
        "Node",
        ...plugins
          .map((plugin) => h("span", {}, parted(plugin), h("small", {}, `× ${weights.get(plugin)}`)))
          .map((text) => ({text})),
      ],
      rows,
    ),
    same.length > 0 &&
      candidates.length > 1 &&
      h(
        "details",
        {class: "same"},
        h("summary", {}, `The same for every node: ${count(same.length, "plugin")}`),
        h("p", {}, listed(same.map((plugin) => `${plugin} ${number(of(candidates[0], plugin)?.weighted ?? 0)}`)) + "."),
      ),
  ];
}

function scoreOf(score) {
  if (!score) return "–";
  const share = score.weight ? Math.max(0, Math.min(1, score.normalised / 100)) : 0;
  return [
    bar(share, number(score.weighted)),
    h("small", {}, `${number(score.raw)} → ${number(score.normalised)} × ${score.weight}`),
    score.parts?.length > 0 &&
      h(
        "details",
        {class: "parts"},
        h("summary", {}, count(score.parts.length, "rule")),
        h(
          "ul",
          {},
          score.parts.map((part) =>
            h(
              "li",
              {},
              part.rule,
              part.topologyKey && h("small", {}, `${noun(part.topologyKey)} ${part.domain ?? ""}`),
              h(
                "small",
                {},
                `${count(part.count, "pod")} × ${figure(part.weight)}${added(part)} = `,
                h("b", {}, figure(part.score)),
              ),
              part.pods?.length > 0 &&
                h("small", {class: "names"}, firsts(part.pods, 3) + (part.count > part.pods.length ? ", …" : "")),
            ),
          ),
        ),
      ),
  ];
}

// added is what a spread constraint adds to its count, its maxSkew less one.
export function added(part) {
  const more = part.score - part.count * part.weight;
  return more > 0.5 ? ` + ${figure(more)}` : "";
}

function verdictsOf(cycle) {
  const said = cycle.preFilter ?? [];
  if (said.length + (cycle.filters ?? []).length === 0) return null;
  return h(
    "details",
    {},
    h("summary", {}, "Plugins that took part"),
    said.length > 0 &&
      h("p", {}, "Before the nodes: ", listed(said.map((verdict) => `${verdict.plugin} (${verdict.status})`)), "."),
    cycle.filters?.length > 0 && h("p", {}, "Filters, in order: ", cycle.filters.join(", "), "."),
  );
}
