// A pod's scheduling cycle, stepped through on the map: what the filters refuse, what the scores come to, where it goes.

import {steps} from "#shared/data.js";
import {fill, h, keepingFocus, podKey, say} from "#shared/dom.js";
import {show, view} from "#shared/view.js";
import {count, number} from "#shared/words.js";

const STAGES = ["Filter", "Score", "Bind"];

let walk; // {pod, cycle, at, step}

export const canWalk = (cycle) =>
  Boolean(cycle) && !document.querySelector("#map .dense") && document.querySelector("#map .node") !== null;

// startWalk begins with the filters, in the step in which the pod was looked at.
export function startWalk(pod) {
  const at = steps.findIndex(({name}) => name === pod.step);
  if (at >= 0 && at !== view.step) show(at);
  walk = {pod, cycle: pod.cycle, at: 0, step: view.step};
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
  document.querySelectorAll("#map .unbound").forEach((chip) => chip.classList.remove("unbound"));
};

// drawWalk dresses the map for the stage; whoever draws the map calls it again.
export function drawWalk() {
  if (!walk) return;
  if (walk.step !== view.step) return stopWalk();
  const {pod, cycle, at} = walk;
  const refused = new Map((cycle.refusals ?? []).flatMap((of) => (of.nodes ?? []).map((node) => [node, of])));
  const candidates = new Map((cycle.candidates ?? []).map((candidate) => [candidate.node, candidate]));
  undress();
  for (const name of document.querySelectorAll("#map .node .name")) {
    const node = name.closest(".node"),
      of = name.textContent,
      refusal = refused.get(of),
      candidate = candidates.get(of);
    const badge = (kind, words) => node.append(h("p", {class: "walked " + kind}, words));
    if (refusal) {
      node.classList.add("refused");
      badge("bad", at === 0 ? [h("b", {}, `✕ ${refusal.plugin}: `), refusal.message] : "✕ refused");
    } else if (at === 0) badge("good", candidate ? "✓ passes all filters" : "not looked at");
    else if (at === 1)
      badge(
        "",
        !candidate ? "not scored" : cycle.scored === 0 ? "the only one left" : `${number(candidate.total)} points`,
      );
    else if (of === pod.node) {
      node.classList.add("bound");
      badge("good", `→ ${pod.pod ?? pod.name} goes here`);
    } else node.classList.add("aside");
  }
  if (at < 2) document.querySelector(`#map [data-pod="${CSS.escape(podKey(pod))}"]`)?.classList.add("unbound");
  const words = [
    `${count(cycle.searched, "node")} looked at, ${number((cycle.refusals ?? []).reduce((sum, of) => sum + of.count, 0))} refused.`,
    candidates.size === 0
      ? "No node is left to score."
      : cycle.scored === 0
        ? "A single node is left, and is taken without scores."
        : `${count(cycle.scored, "node")} scored.`,
    pod.verdict ?? "",
  ][at];
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
        STAGES.map((stage, i) => h("li", {"aria-current": i === at && "step"}, stage)),
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
          {
            type: "button",
            class: "button",
            "data-focus": "walk on",
            click: () => (at < STAGES.length - 1 ? turn(1) : stopWalk()),
          },
          at < STAGES.length - 1 ? `${STAGES[at + 1]} →` : "Done",
        ),
      ),
    ),
    h("p", {class: "walkwords"}, words),
  ]);
}
