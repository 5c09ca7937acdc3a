// The page's data, and what is known of it without drawing anything. Load sets it, and may set it anew.

import {figure, HOSTNAME, number} from "./words.js";

// unpack reads what pack in pack.go writes, which says what the lists mean.
export function unpack({shapes, shared, root}) {
  const made = new Array(shared.length);
  const value = (packed) => {
    if (!Array.isArray(packed)) return packed;
    const [first, ...rest] = packed;
    if (first === -1) return rest.map(value);
    if (first === -2) return {};
    if (rest.length === 0) return (made[first] ??= value(shared[first]));
    return Object.fromEntries(rest.map((within, i) => [shapes[first][i], value(within)]));
  };
  return value(root);
}

export let report, blast, explain;
export let steps = [];
export let live = false; // an engine stands behind the page, and looks at what its data lacks
export let nodesOf = []; // the nodes after each step
export let levelKeys = []; // the levels above the single node, widest first
export let groupKeys = []; // the labels by which nodes can be grouped: the levels, then others with few values
let labels = {}; // these others, by the node's name
export let namespaced = false; // names need their namespace
export let marks = new Map(); // each workload's letters and colours

export function load(data) {
  ({report, blast, explain, labels = {}, live = false} = data);
  steps = report?.steps ?? [];
  nodesOf = nodesOfSteps();
  levelKeys = ((report ?? explain)?.cluster?.levels ?? [])
    .map((level) => level.topologyKey)
    .filter((key) => key !== HOSTNAME);
  groupKeys = [...new Set([...levelKeys, ...Object.values(labels).flatMap(Object.keys).sort()])];
  namespaced = [...steps.flatMap((step) => step.pods ?? []), ...(explain?.pods ?? [])].some(
    (pod) => pod.namespace !== "default",
  );
  marks = marksOf();
}

// nodesOfSteps are the nodes after each step: a step without nodes has those of the one before it.
const nodesOfSteps = () =>
  steps.reduce((all, step, i) => {
    all.push(step.nodes ?? all[i - 1] ?? report.nodes ?? nodesOfPods(step));
    return all;
  }, []);

// nodesOfPods are the nodes that have pods, for a report that lists none.
function nodesOfPods(step) {
  const nodes = new Map();
  for (const pod of step.pods ?? []) if (pod.node) nodes.set(pod.node, {name: pod.node, topology: pod.topology});
  return [...nodes.values()];
}

// domainOf is the node's failure domain of the level; a node is its own, whatever its labels. Undefined where it has no
// label.
export const domainOf = (node, key) =>
  node.topology?.[key] ?? labels[node.name]?.[key] ?? (key === HOSTNAME ? node.name : undefined);

// workloadOf names the workload that a pod is of; pods without an owner are one for each namespace.
export const workloadOf = (pod) => pod.namespace + "/" + (pod.workload || "pod");

// livesWithNode tells of pods that no controller replaces elsewhere, and that count in no share: those of DaemonSets,
// static pods and pods without an owner.
export const livesWithNode = (pod) => !pod.workload || /^(daemonset|node|pod)\//.test(pod.workload);

// ofDaemonSet tells of pods that the map counts and does not draw: every node has them.
export const ofDaemonSet = (pod) => pod.workload?.startsWith("daemonset/");

export const qualified = (namespace, name) => (namespaced ? namespace + "/" + name : name);

export const workloadTitle = (workload) =>
  qualified(workload.namespace, workload.kind.toLowerCase() + "/" + workload.name);

const palette = [
  ["#0072b2", "#fff"],
  ["#e69f00", "#111"],
  ["#009e73", "#111"],
  ["#cc79a7", "#111"],
  ["#56b4e9", "#111"],
  ["#d55e00", "#111"],
  ["#f0e442", "#111"],
  ["#999999", "#111"],
];

// marksOf are the marks of the workloads, the same in every step. The colours are those of Okabe and Ito, which people
// with any colour vision tell apart; the letters say the same. Where there are more workloads than colours, the largest
// have one, and the others are grey.
function marksOf() {
  const largest = new Map(); // the most pods that each has after a step
  for (const step of steps)
    for (const pods of groupBy(step.pods ?? [], workloadOf))
      largest.set(workloadOf(pods[0]), {
        pod: pods[0],
        n: Math.max(pods.length, largest.get(workloadOf(pods[0]))?.n ?? 0),
      });
  const many = largest.size > palette.length;
  const drawn = ({pod, n}) => (ofDaemonSet(pod) ? 0 : n);
  const order = many ? [...largest].sort(([, a], [, b]) => drawn(b) - drawn(a)) : [...largest];
  return new Map(
    order.map(([key, {pod}], i) => {
      const [colour, ink] = palette[Math.min(i, palette.length - 1)];
      let letters = "";
      for (let n = i + 1; n > 0; n = Math.floor((n - 1) / 26))
        letters = String.fromCharCode(65 + ((n - 1) % 26)) + letters;
      const title = qualified(pod.namespace, pod.workload || "pods without owner");
      return [key, {key, letters, colour, ink, title}];
    }),
  );
}

// shortName is what tells a pod from the others of its workload.
export function shortName(pod) {
  const owner = pod.workload?.slice(pod.workload.indexOf("/") + 1);
  return owner && pod.name.startsWith(owner + "-") ? pod.name.slice(pod.name.lastIndexOf("-") + 1) : pod.name;
}

// podsByNode are the step's pods by the name of their node; Pending ones by "".
export function podsByNode(step) {
  const byNode = new Map();
  for (const pod of step.pods ?? []) {
    const node = pod.node ?? "";
    if (!byNode.has(node)) byNode.set(node, []);
    byNode.get(node).push(pod);
  }
  return byNode;
}

// isEnding tells of a pod that is being deleted. It is drawn, and not counted, as in the numbers of a step.
export const isEnding = (pod) => pod.status === "Terminating";

// countPods is the number of pods that are not being deleted.
export const countPods = (pods) => pods.filter((pod) => !isEnding(pod)).length;

// requestedOn is what the pods on each node request, by the node's name; empty for a report that does not say.
export const requestedOn = (step) => new Map((step.requested ?? []).map((of) => [of.node, of]));

// uses are the shares of its CPU and memory that pods on a node request: [{of, share, words}].
export function uses(node, requested) {
  const asks = requested.get(node.name) ?? {cpu: 0, memory: 0};
  const use = (of, asked, all, words) => ({of, share: asked / all, words: `${words(asked)} of ${words(all)}`});
  return requested.size === 0
    ? []
    : [
        node.cpu > 0 && use("CPU", asks.cpu, node.cpu, (n) => figure(n)),
        node.memory > 0 && use("Memory", asks.memory, node.memory, (n) => figure(n / 2 ** 30) + " GiB"),
      ].filter(Boolean);
}

// groupBy keeps the order of the first of each group.
export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const k = key(item);
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(item);
  }
  return [...groups.values()];
}

// nested is the tree of failure domains: [{key, value, nodes, groups}]; value is undefined for nodes without the label.
// A level that none of the nodes has is left out.
export function nested(nodes, keys) {
  const [key, ...deeper] = keys;
  if (key === undefined) return [];
  if (nodes.every((node) => domainOf(node, key) === undefined)) return nested(nodes, deeper);
  return groupBy(nodes, (node) => domainOf(node, key))
    .map((within) => ({key, value: domainOf(within[0], key), nodes: within, groups: nested(within, deeper)}))
    .sort(
      (a, b) => Number(a.value === undefined) - Number(b.value === undefined) || byName(a.value ?? "", b.value ?? ""),
    );
}

export const byName = new Intl.Collator("en", {numeric: true}).compare;

// changesBetween says by workload how a step differs from an earlier one: [{key, on, off, moved, added, gone,
// pending}], where on and off are numbers of pods by node, and pending is how many more wait. Pods of a workload are
// alike: one less here and one more there moved.
export function changesBetween(before, after) {
  const workloads = new Map();
  const count = (step, by) => {
    for (const pod of step.pods ?? []) {
      if (isEnding(pod)) continue; // its place is that of another pod by now
      const key = workloadOf(pod),
        node = pod.node ?? "";
      if (!workloads.has(key)) workloads.set(key, new Map());
      workloads.get(key).set(node, (workloads.get(key).get(node) ?? 0) + by);
    }
  };
  count(before, -1);
  count(after, 1);
  return [...workloads]
    .map(([key, nodes]) => {
      const on = [...nodes].filter(([node, n]) => node && n > 0),
        off = [...nodes].filter(([node, n]) => node && n < 0).map(([node, n]) => [node, -n]);
      const sum = (list) => list.reduce((all, [, n]) => all + n, 0);
      const moved = Math.min(sum(on), sum(off));
      return {key, on, off, moved, added: sum(on) - moved, gone: sum(off) - moved, pending: nodes.get("") ?? 0};
    })
    .filter((change) => change.moved + change.added + change.gone > 0 || change.pending !== 0);
}

// changesOf is how a step differs from the one before it.
export const changesOf = (i) => (i === 0 ? [] : changesBetween(steps[i - 1], steps[i]));

// changeWords are the changes in words, added up: ["2 moved", "1 newly Pending"].
export function changeWords(changes) {
  const sum = (of) => changes.reduce((all, change) => all + of(change), 0);
  return [
    [sum((c) => Math.max(0, c.pending)), "newly Pending"],
    [sum((c) => Math.max(0, -c.pending)), "fewer Pending"],
    [sum((c) => c.moved), "moved"],
    [sum((c) => c.added), "more placed"],
    [sum((c) => c.gone), "gone"],
  ]
    .filter(([n]) => n > 0)
    .map(([n, words]) => `${number(n)} ${words}`);
}

// signsOf says in words what keeps pods away from a node.
export function signsOf(node) {
  const signs = [];
  if (node.notReady) signs.push(["✕", "NotReady"]);
  if (node.unschedulable) signs.push(["⊘", "cordoned"]);
  for (const taint of node.taints ?? []) signs.push(["▲", taint.slice(taint.lastIndexOf("/") + 1), "taint " + taint]);
  return signs;
}

// unknown marks what is of none of the workloads.
export const unknown = {letters: "?", colour: "#999999", ink: "#111", title: "unknown"};

// unscheduled are the workloads that Karmada's scheduler was not content with.
export const unscheduled = (step) => (step.bindings ?? []).filter((of) => of.reason !== "Success");
