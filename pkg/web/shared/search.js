// Search: pods, workloads, nodes and failure domains by name. What is chosen is marked on the map, and the panel says
// what is known of it.

import {
  countPods,
  domainOf,
  groupBy,
  groupKeys,
  levelKeys,
  live,
  marks,
  nodesOf,
  ofDaemonSet,
  podsByNode,
  qualified,
  requestedOn,
  signsOf,
  steps,
  uses,
  workloadOf,
  workloadTitle,
} from "./data.js";
import {growing, h, podKey, say, useBar, waiting} from "./dom.js";
import {failButton} from "./links.js";
import {find, restore, view} from "./view.js";
import {mustWait} from "./waits.js";
import {count, firsts, HOSTNAME, noun, number, titleOf} from "./words.js";

const HITS = 12;

// hitsOf are the first things of the step whose names contain the words, those that begin with them first: {of, name,
// found, mark}.
function hitsOf(step, words) {
  const hits = [];
  const add = (of, name, hit) => {
    const at = name.toLowerCase().indexOf(words);
    if (at >= 0) hits.push({of, name, at: at === 0 ? 0 : 1, ...hit});
  };
  const nodes = nodesOf[steps.indexOf(step)];
  for (const key of levelKeys)
    for (const domain of new Set(nodes.map((node) => domainOf(node, key))))
      if (domain !== undefined) add(noun(key), domain, {found: {key, domain}});
  for (const node of nodes) add("node", node.name, {found: {node: node.name}});
  for (const workload of step.workloads ?? []) {
    const key = workload.namespace + "/" + workload.kind.toLowerCase() + "/" + workload.name;
    if (marks.has(key)) add("workload", workloadTitle(workload), {found: {workload}, mark: key});
  }
  for (const pod of step.pods ?? []) add("pod", qualified(pod.namespace, pod.name), {found: {pod, node: pod.node}});
  return hits.sort((a, b) => a.at - b.at).slice(0, HITS);
}

// searchField is a combobox: the arrow keys choose, Enter takes, Escape closes.
export function searchField() {
  let hits = [],
    at = 0;
  const list = h("ul", {id: "hits", role: "listbox", "aria-label": "Found", hidden: true});
  const input = h("input", {
    id: "search",
    type: "search",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "hits",
    "aria-autocomplete": "list",
    "aria-label": "Find a pod, workload, node or domain",
    placeholder: "Find a pod, workload or node",
    autocomplete: "off",
    spellcheck: "false",
  });
  const draw = () => {
    const none = input.value.trim() !== "" && hits.length === 0;
    list.replaceChildren(
      ...hits.map((hit, i) =>
        h(
          "li",
          {
            id: "hit-" + i,
            role: "option",
            "aria-selected": String(i === at),
            mousedown: (event) => {
              event.preventDefault();
              take(hit);
            },
          },
          h("small", {}, hit.of),
          " ",
          hit.name,
        ),
      ),
      ...(none ? [h("li", {class: "hint", role: "option", "aria-disabled": "true"}, "Nothing has such a name.")] : []),
    );
    list.hidden = hits.length === 0 && !none;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (hits.length > 0) input.setAttribute("aria-activedescendant", "hit-" + at);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    hits = [];
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const take = (hit) => {
    close();
    find(hit.found, hit.mark);
    (document.querySelector("#map .found") ?? document.getElementById("map")).scrollIntoView({block: "nearest"});
    say(`${hit.of} ${hit.name} found.`);
  };
  const search = () => {
    const words = input.value.trim().toLowerCase();
    hits = words ? hitsOf(steps[view.step], words) : [];
    at = 0;
    draw();
  };
  for (const [name, listener] of Object.entries({
    input: search,
    blur: close,
    focus: search,
    keydown: (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        at = (at + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % Math.max(1, hits.length);
        draw();
      } else if (event.key === "Enter" && hits.length > 0) take(hits[at]);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    },
  }))
    input.addEventListener(name, listener);
  return h("div", {class: "search", role: "search"}, input, list);
}

// foundPanel is what is known of what was searched for.
export function foundPanel(step, {pod, node, workload, key, domain}) {
  const title = (of, name) =>
    h(
      "div",
      {class: "panelhead"},
      h("h3", {}, `${of} ${name}`),
      h("button", {type: "button", class: "restore", click: restore}, "Close", h("kbd", {}, "Esc")),
    );
  const at = node && nodesOf[steps.indexOf(step)].find((of) => of.name === node);
  if (workload) {
    const pods = (step.pods ?? []).filter((of) => workloadOf(of) === view.marked);
    return [
      title("Workload", workloadTitle(workload)),
      h(
        "p",
        {},
        `${count(workload.desired, "pod")} wanted, ${number(workload.running)} running, ` +
          `${number(workload.pending)} Pending.`,
      ),
      growing(
        groupBy(pods, (of) => of.node ?? ""),
        8,
        (of) =>
          h(
            "li",
            {},
            h("b", {}, of[0].node ?? "no node"),
            ": ",
            firsts(
              of.map((one) => one.name),
              3,
            ),
          ),
      ),
    ];
  }
  if (pod) {
    return [
      title("Pod", qualified(pod.namespace, pod.name)),
      h(
        "p",
        {},
        [pod.status, pod.node ? "on " + pod.node : "on no node", pod.workload && "of " + pod.workload]
          .filter(Boolean)
          .join(", ") + ".",
      ),
      mustWait(pod) && waiting(pod),
      live && h("p", {}, h("button", {type: "button", class: "link", "data-pod": podKey(pod)}, "Explain")),
      at && nodeDetails(step, at),
    ];
  }
  if (at)
    return [
      title("Node", node),
      nodeDetails(step, at),
      h("p", {}, failButton(step, HOSTNAME, [domainOf(at, HOSTNAME)], "Fail this node")),
    ];
  return [title(titleOf(key), domain), h("p", {}, failButton(step, key, [domain], `Fail this ${noun(key)}`))];
}

// nodeDetails are what a node has and what its pods request.
export function nodeDetails(step, node) {
  const pods = podsByNode(step).get(node.name) ?? [],
    daemons = countPods(pods.filter(ofDaemonSet));
  return h(
    "dl",
    {class: "details"},
    [
      ...uses(node, requestedOn(step)).map((use) => [`${use.of} requested`, useBar(use)]),
      [
        "Pods",
        number(countPods(pods)) +
          (node.pods ? ` of ${number(node.pods)}` : "") +
          (daemons > 0 ? `, ${number(daemons)} of DaemonSets` : ""),
      ],
      ...new Map(
        groupKeys.filter((key) => domainOf(node, key) !== undefined).map((key) => [titleOf(key), domainOf(node, key)]),
      ),
      ...signsOf(node).map(([, text, title]) => ["State", title ?? text]),
    ].map(([of, value]) => h("div", {}, h("dt", {}, of), h("dd", {}, value))),
  );
}
