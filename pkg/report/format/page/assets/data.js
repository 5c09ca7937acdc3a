"use strict";

// The page's data, and what is known of it without drawing anything.

// unpack reads what pack in html_pack.go writes, which says what the lists mean.
function unpack({shapes, shared, root}) {
  const made = new Array(shared.length);
  const value = (packed) => {
    if (!Array.isArray(packed)) return packed;
    const [first, ...rest] = packed;
    if (first === -1) return rest.map(value);
    if (first === -2) return {};
    if (rest.length === 0) return made[first] ??= value(shared[first]);
    return Object.fromEntries(rest.map((within, i) => [shapes[first][i], value(within)]));
  };
  return value(root);
}

const {report, blast, explain} = unpack(JSON.parse(document.getElementById("data").textContent));
const head = (report ?? explain);
const steps = report?.steps ?? [];
const HOSTNAME = "kubernetes.io/hostname";

// noun is what a failure domain of the level is called.
function noun(key) {
  switch (key) {
    case "topology.kubernetes.io/region": return "region";
    case "topology.kubernetes.io/zone": return "zone";
    case HOSTNAME: return "node";
  }
  return key.slice(key.lastIndexOf("/") + 1);
}

// nodesOf are the nodes after each step: a step without nodes has those of the one before it.
const nodesOf = steps.reduce((all, step, i) => {
  all.push(step.nodes ?? all[i - 1] ?? report.nodes ?? nodesOfPods(step));
  return all;
}, []);

// nodesOfPods are the nodes that have pods, for a report that lists none.
function nodesOfPods(step) {
  const nodes = new Map();
  for (const pod of step.pods ?? []) if (pod.node) nodes.set(pod.node, {name: pod.node, topology: pod.topology});
  return [...nodes.values()];
}

// domainOf is the node's failure domain of the level; a node is its own, whatever its labels. Undefined where it has no label.
const domainOf = (node, key) => node.topology?.[key] ?? (key === HOSTNAME ? node.name : undefined);

// levelKeys are the levels above the single node, widest first.
const levelKeys = (head.cluster?.levels ?? []).map((level) => level.topologyKey).filter((key) => key !== HOSTNAME);

// workloadOf names the workload that a pod is of; pods without an owner are one for each namespace.
const workloadOf = (pod) => pod.namespace + "/" + (pod.workload || "pod");

// livesWithNode tells of pods that no controller replaces elsewhere, and that count in no share: those of DaemonSets, static pods
// and pods without an owner.
const livesWithNode = (pod) => !pod.workload || /^(daemonset|node|pod)\//.test(pod.workload);

// ofDaemonSet tells of pods that the map counts and does not draw: every node has them.
const ofDaemonSet = (pod) => pod.workload?.startsWith("daemonset/");

// namespaced tells that names need their namespace.
const namespaced = steps.some((step) => (step.pods ?? []).some((pod) => pod.namespace !== "default")) ||
  (explain?.pods ?? []).some((pod) => pod.namespace !== "default");

const qualified = (namespace, name) => namespaced ? namespace + "/" + name : name;

const workloadTitle = (workload) => qualified(workload.namespace, workload.kind.toLowerCase() + "/" + workload.name);

// marks are each workload's letters and colours, the same in every step. The colours are those of Okabe and Ito, which people
// with any colour vision tell apart; the letters say the same.
const marks = new Map();
const palette = [["#0072b2", "#fff"], ["#e69f00", "#111"], ["#009e73", "#111"], ["#cc79a7", "#111"],
  ["#56b4e9", "#111"], ["#d55e00", "#111"], ["#f0e442", "#111"], ["#999999", "#111"]];
for (const step of steps) {
  for (const pod of step.pods ?? []) {
    const key = workloadOf(pod);
    if (marks.has(key)) continue;
    const [colour, ink] = palette[marks.size % palette.length];
    let letters = "";
    for (let n = marks.size + 1; n > 0; n = Math.floor((n - 1) / 26)) letters = String.fromCharCode(65 + (n - 1) % 26) + letters;
    marks.set(key, {key, letters, colour, ink, title: pod.workload ? qualified(pod.namespace, pod.workload) : qualified(pod.namespace, "pods without owner")});
  }
}

// shortName is what tells a pod from the others of its workload.
function shortName(pod) {
  const owner = pod.workload?.slice(pod.workload.indexOf("/") + 1);
  return owner && pod.name.startsWith(owner + "-") ? pod.name.slice(pod.name.lastIndexOf("-") + 1) : pod.name;
}

// podsByNode are the step's pods by the name of their node; Pending ones by "".
function podsByNode(step) {
  const byNode = new Map();
  for (const pod of step.pods ?? []) {
    const node = pod.node ?? "";
    if (!byNode.has(node)) byNode.set(node, []);
    byNode.get(node).push(pod);
  }
  return byNode;
}

// requestedOn is what the pods on each node request, by the node's name; empty for a report that does not say.
const requestedOn = (step) => new Map((step.requested ?? []).map((of) => [of.node, of]));

// uses are the shares of its CPU and memory that pods on a node request: [{of, share, words}].
function uses(node, requested) {
  const asks = requested.get(node.name) ?? {cpu: 0, memory: 0};
  const use = (of, asked, all, words) => ({of, share: asked / all, words: `${words(asked)} of ${words(all)}`});
  return requested.size === 0 ? [] : [
    node.cpu > 0 && use("CPU", asks.cpu, node.cpu, (n) => figure(n)),
    node.memory > 0 && use("Memory", asks.memory, node.memory, (n) => figure(n / 2 ** 30) + " GiB"),
  ].filter(Boolean);
}

// groupBy keeps the order of the first of each group.
function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const k = key(item);
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(item);
  }
  return [...groups.values()];
}

// nested is the tree of failure domains: [{key, value, nodes, groups}]; value is undefined for nodes without the label. A level
// that none of the nodes has is left out.
function nested(nodes, keys) {
  const [key, ...deeper] = keys;
  if (key === undefined) return [];
  if (nodes.every((node) => domainOf(node, key) === undefined)) return nested(nodes, deeper);
  return groupBy(nodes, (node) => domainOf(node, key))
    .map((within) => ({key, value: domainOf(within[0], key), nodes: within, groups: nested(within, deeper)}))
    .sort((a, b) => (a.value === undefined) - (b.value === undefined) || byName(a.value ?? "", b.value ?? ""));
}

const byName = new Intl.Collator("en", {numeric: true}).compare;

// blastStep is what was found out about failures after the step; undefined if nothing was.
const blastStep = (step) => blast?.steps.find((looked) => looked.name === step.name);

// failureOf is the failure of exactly these domains; undefined if it was not looked at.
function failureOf(step, key, domains) {
  const same = (failure) => failure.domains.length === domains.length && failure.domains.every((domain) => domains.includes(domain));
  return blastStep(step)?.levels.find((level) => level.topologyKey === key)?.failures.find(same);
}

// recoveryOf is what came back after a failure, and of which failure that was looked at: {recovery, like}.
function recoveryOf(step, key, failure) {
  if (!failure?.likeDomains) return {recovery: failure?.recovery};
  return {recovery: failureOf(step, key, failure.likeDomains)?.recovery, like: failure.likeDomains};
}

// failing are the nodes that fail, as a set of names.
function failing(step, key, domains) {
  const failure = failureOf(step, key, domains);
  if (failure) return new Set(failure.nodes);
  const nodes = nodesOf[steps.indexOf(step)];
  return new Set(nodes.filter((node) => domains.includes(domainOf(node, key))).map((node) => node.name));
}

// lossOf counts what the failure of the nodes takes, from the placements alone: {pods, of, others, workloads}, where others are
// lost pods that count in no share, and each of the workloads has {key, lost, replicas, pods}, the largest share first.
function lossOf(step, nodes) {
  const loss = {pods: 0, of: 0, others: 0};
  const workloads = new Map();
  for (const pod of step.pods ?? []) {
    if (!pod.node) continue;
    const lost = nodes.has(pod.node);
    loss.of++;
    if (lost) loss.pods++;
    if (livesWithNode(pod)) {
      if (lost) loss.others++;
      continue;
    }
    const key = workloadOf(pod);
    if (!workloads.has(key)) workloads.set(key, {key, namespace: pod.namespace, workload: pod.workload, lost: 0, replicas: 0, pods: []});
    const of = workloads.get(key);
    of.replicas++;
    if (lost) {
      of.lost++;
      of.pods.push(pod);
    }
  }
  loss.workloads = [...workloads.values()].filter((of) => of.lost > 0)
    .sort((a, b) => b.lost * a.replicas - a.lost * b.replicas || b.lost - a.lost || byName(a.key, b.key));
  return loss;
}

// changesOf says by workload how a step differs from the one before it: [{key, on, off, moved, added, gone, pending}], where on and off
// are numbers of pods by node, and pending is how many more wait. Pods of a workload are alike: one less here and one more there moved.
function changesOf(i) {
  if (i === 0) return [];
  const workloads = new Map();
  const count = (step, by) => {
    for (const pod of step.pods ?? []) {
      if (pod.status === "Terminating") continue; // its place is that of another pod by now
      const key = workloadOf(pod), node = pod.node ?? "";
      if (!workloads.has(key)) workloads.set(key, new Map());
      workloads.get(key).set(node, (workloads.get(key).get(node) ?? 0) + by);
    }
  };
  count(steps[i - 1], -1);
  count(steps[i], 1);
  return [...workloads].map(([key, nodes]) => {
    const on = [...nodes].filter(([node, n]) => node && n > 0), off = [...nodes].filter(([node, n]) => node && n < 0).map(([node, n]) => [node, -n]);
    const sum = (list) => list.reduce((all, [, n]) => all + n, 0);
    const moved = Math.min(sum(on), sum(off));
    return {key, on, off, moved, added: sum(on) - moved, gone: sum(off) - moved, pending: nodes.get("") ?? 0};
  }).filter((change) => change.moved + change.added + change.gone > 0 || change.pending !== 0);
}

// changeWords are the changes in words, added up: ["2 moved", "1 newly Pending"].
function changeWords(changes) {
  const sum = (of) => changes.reduce((all, change) => all + of(change), 0);
  return [[sum((c) => Math.max(0, c.pending)), "newly Pending"], [sum((c) => Math.max(0, -c.pending)), "fewer Pending"], [sum((c) => c.moved), "moved"],
    [sum((c) => c.added), "more placed"], [sum((c) => c.gone), "gone"]].filter(([n]) => n > 0).map(([n, words]) => `${number(n)} ${words}`);
}

// Words.

const number = (n) => n.toLocaleString("en");
const count = (n, one, many = one + "s") => number(n) + " " + (n === 1 ? one : many);

// percent never rounds something to nothing, nor what is not everything to everything.
function percent(share) {
  if (share > 0 && share < 0.01) return "<1%";
  if (share > 0.99 && share < 1) return ">99%";
  return Math.round(100 * share) + "%";
}

// figure is a number with three digits that mean something.
const figure = (n) => String(Number(n.toPrecision(3)));

const listed = (words) => words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words.at(-1);

// takes is "2 of 3 of deployment/web".
const takes = (radius) => `${radius.lost} of ${radius.replicas} of ${qualified(radius.namespace ?? "", radius.workload)}`;
