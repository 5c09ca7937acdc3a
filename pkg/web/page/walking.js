// A pod's scheduling cycle, stepped through on the map: what the filters refuse, what each plugin gives, where it goes.

import {steps} from "#shared/data.js";
import {fill, h, keepingFocus, parted, podKey, say} from "#shared/dom.js";
import {show, view} from "#shared/view.js";
import {count, listed, number} from "#shared/words.js";

let walk; // {pod, cycle, stages, at, step}

// stagesOf are the stages of a cycle: what the filters refuse, what each plugin gives the nodes that tells them apart, the
// sum, and where the pod goes. A stage is {name, badge(node) → [kind, words], words}.
function stagesOf({cycle, verdict, node, pod, name}) {
  const refused = new Map((cycle.refusals ?? []).flatMap((of) => (of.nodes ?? []).map((node) => [node, of])));
  const candidates = new Map((cycle.candidates ?? []).map((candidate) => [candidate.node, candidate]));
  const scored = cycle.scored > 0 ? [...candidates.values()] : [];
  const plugins = apart(scored);
  // added are the points of the first plugins, one below the other, with what they come to.
  const added = (candidate, of) => {
    const scores = of.map((plugin) => scoreOf(candidate, plugin)).filter(Boolean);
    return scores.map(({plugin, normalised, weight, weighted}) =>
      points(parted(plugin), `${number(normalised)} × ${weight} = `, weighted),
    );
  };
  const most = (value) => Math.max(...scored.map(value));
  const below = (of, last) => (name) => {
    const candidate = candidates.get(name);
    if (refused.has(name)) return ["bad", "✕ refused"];
    return candidate ? ["", [added(candidate, of), last(candidate)]] : ["", "not scored"];
  };
  const filter = {
    name: "Filter",
    badge: (name) => {
      const refusal = refused.get(name);
      if (refusal) return ["bad", [h("b", {}, "✕ ", parted(refusal.plugin), ": "), refusal.message]];
      return ["good", candidates.has(name) ? "✓ passes all filters" : "not looked at"];
    },
    words:
      `${count(cycle.searched, "node")} looked at, ` +
      `${number((cycle.refusals ?? []).reduce((sum, of) => sum + of.count, 0))} refused.`,
  };
  const perPlugin = plugins.map((plugin, i) => {
    const given = (candidate) => scoreOf(candidate, plugin)?.weighted ?? 0;
    const top = most(given),
      first = scored.filter((candidate) => given(candidate) === top),
      weight = scored.map((candidate) => scoreOf(candidate, plugin)).find(Boolean).weight;
    const sum = (candidate) =>
      plugins.slice(0, i + 1).reduce((all, of) => all + (scoreOf(candidate, of)?.weighted ?? 0), 0);
    return {
      name: plugin,
      badge: below(plugins.slice(0, i + 1), (candidate) => i > 0 && points("so far", "", sum(candidate))),
      words:
        `${plugin} gives 0 to 100 points, times its weight, ${weight}. ` +
        `${listed(first.map(({node}) => node))} ${first.length === 1 ? "gets" : "get"} the most, ${number(top)}.`,
    };
  });
  const others = (candidate) =>
    candidate.total - plugins.reduce((all, of) => all + (scoreOf(candidate, of)?.weighted ?? 0), 0);
  const top = most(({total}) => total),
    first = scored.filter(({total}) => total === top);
  const sum = {
    name: plugins.length > 0 ? "Sum" : "Score",
    badge: (name) => {
      if (candidates.has(name) && scored.length === 0) return ["", "the only one left"];
      return below(plugins, (candidate) => [
        points(plugins.length > 0 ? "all others" : "all plugins", "", others(candidate)),
        points("sum", "", candidate.total),
      ])(name);
    },
    words:
      candidates.size === 0
        ? "No node is left to score."
        : scored.length === 0
          ? "A single node is left, and is taken without scores."
          : (plugins.length > 0
              ? "The other plugins give each node the same. "
              : "Each plugin gives all nodes the same. ") +
            (first.length === 1
              ? `${first[0].node} has the most points, ${number(top)}.`
              : `${count(first.length, "node")} have the most points, ${number(top)}: chance decides among them.`),
  };
  const bind = {
    name: "Bind",
    badge: (name) => name === node && ["good", `→ ${pod ?? name} goes here`],
    words: verdict ?? "",
  };
  return [filter, ...perPlugin, sum, bind];
}

// points is a line of a sum: whose points, how they come about, and how many they are.
const points = (of, how, n) =>
  h("span", {class: "points"}, h("span", {}, of), " ", h("span", {}, how, h("b", {}, number(n))));

const scoreOf = (candidate, plugin) => candidate.scores?.find((score) => score.plugin === plugin);

// apart are the plugins whose points tell the candidates apart, those that do so the most first.
function apart(candidates) {
  const spread = new Map();
  for (const plugin of new Set(candidates.flatMap(({scores = []}) => scores.map(({plugin}) => plugin)))) {
    const points = candidates.map((candidate) => scoreOf(candidate, plugin)?.weighted ?? 0);
    spread.set(plugin, Math.max(...points) - Math.min(...points));
  }
  return [...spread.keys()].filter((plugin) => spread.get(plugin) > 0).sort((a, b) => spread.get(b) - spread.get(a));
}

export const canWalk = (cycle) =>
  Boolean(cycle) && !document.querySelector("#map .dense") && document.querySelector("#map .node") !== null;

// startWalk begins with the filters, in the step in which the pod was looked at.
export function startWalk(pod) {
  const at = steps.findIndex(({name}) => name === pod.step);
  if (at >= 0 && at !== view.step) show(at);
  walk = {pod, stages: stagesOf(pod), at: 0, step: view.step};
  drawWalk();
  /** @type {HTMLElement} */
  const next = document.querySelector("#scores [data-focus='walk on']");
  next?.focus();
  document.getElementById("scores").scrollIntoView({block: "nearest"});
}

export function stopWalk() {
  walk = undefined;
  document.getElementById("scores").replaceChildren();
  undress();
}

const undress = () => {
  for (const node of document.querySelectorAll("#map .node")) {
    node.classList.remove("refused", "bound", "aside");
    node.querySelector(".walked")?.remove();
  }
  document.getElementById("map").classList.remove("walking");
  document.querySelectorAll("#map .unbound").forEach((chip) => chip.classList.remove("unbound"));
};

// drawWalk dresses the map for the stage; whoever draws the map calls it again.
export function drawWalk() {
  if (!walk) return;
  if (walk.step !== view.step) return stopWalk();
  const {pod, stages, at} = walk,
    last = stages.length - 1;
  undress();
  document.getElementById("map").classList.add("walking");
  for (const name of document.querySelectorAll("#map .node .name")) {
    const node = name.closest(".node"),
      [kind, words] = stages[at].badge(name.textContent) || [];
    if (kind === "bad") node.classList.add("refused");
    if (at === last) node.classList.add(words ? "bound" : "aside");
    if (words) node.append(h("p", {class: "walked " + kind}, words));
  }
  if (at < last) document.querySelector(`#map [data-pod="${CSS.escape(podKey(pod))}"]`)?.classList.add("unbound");
  const turn = (by) => {
    walk.at += by;
    keepingFocus(drawWalk);
    say(document.querySelector("#scores .walkwords").textContent);
  };
  const panel = document.getElementById("scores");
  panel.replaceChildren();
  fill(panel, {}, [
    h(
      "div",
      {class: "walk"},
      h("b", {}, pod.name),
      h(
        "ol",
        {},
        stages.map(({name}, i) => h("li", {"aria-current": i === at && "step"}, name)),
      ),
      h(
        "span",
        {class: "buttons"},
        h(
          "button",
          {type: "button", class: "button", "data-focus": "walk back", disabled: at === 0, click: () => turn(-1)},
          "←",
        ),
        h(
          "button",
          {type: "button", class: "button", "data-focus": "walk on", click: () => (at < last ? turn(1) : stopWalk())},
          at < last ? [stages[at + 1].name, " →"] : "Done",
        ),
      ),
    ),
    h("p", {class: "walkwords"}, stages[at].words),
  ]);
}
