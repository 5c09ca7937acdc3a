// The map: regions, zones, racks, nodes and pods, nested. A small cluster shows each node as a card with its pods; a
// large one each node as a cell whose strength is its number of pods. Pods of DaemonSets are counted, since every node
// has them.

import {cellsOf, isFound} from "./cells.js";
import {
  countPods,
  domainOf,
  groupBy,
  groupKeys,
  levelKeys,
  marks,
  nested,
  nodesOf,
  ofDaemonSet,
  podsByNode,
  qualified,
  requestedOn,
  shortName,
  signsOf,
  steps,
  unknown,
  uses,
  workloadOf,
} from "./data.js";
import {causes, chip, h, many, parted, podKey} from "./dom.js";
import {failing, failureOf, recoveryOf} from "./losses.js";
import {around, redrawMap, select, view} from "./view.js";
import {sameWait, waitsOf} from "./waits.js";
import {count, figure, firsts, HOSTNAME, noun, number, percent} from "./words.js";

const MANY_NODES = 60,
  MANY_PODS = 1500,
  PODS_ON_CARD = 40,
  NAMED_PODS = 80,
  CARDS = 48,
  GROUPS = 400;

// world is all that the map shows of a step, and of a failure in it: {step, nodes, pods, failed, arrivals, most,
// dense}.
function worldOf(step) {
  const nodes = nodesOf[steps.indexOf(step)];
  const pods = podsByNode(step);
  const failed = view.failed ? failing(step, view.failed.key, view.failed.domains) : new Set();
  const arrivals = new Map();
  if (view.failed) {
    const {recovery, like} = recoveryOf(step, view.failed.key, failureOf(step, view.failed.key, view.failed.domains));
    for (const pod of like ? [] : (recovery?.recovered ?? [])) {
      if (!arrivals.has(pod.node)) arrivals.set(pod.node, []);
      arrivals.get(pod.node).push(pod);
    }
  }
  const shown = (pod) => !view.marked || workloadOf(pod) === view.marked;
  const weight = (node) => countPods((pods.get(node.name) ?? []).filter((pod) => !ofDaemonSet(pod) && shown(pod)));
  const most = nodes.reduce((most, node) => Math.max(most, weight(node)), 0);
  const requested = requestedOn(step);
  const share = (node) => uses(node, requested).find((use) => use.of === view.heat)?.share ?? 0;
  const ofPods = view.heat === "Pods" || requested.size === 0;
  return {
    step,
    nodes,
    pods,
    failed,
    arrivals,
    requested,
    most,
    // heat is how strong a node is drawn, from 0 to 1, and figure what is written on it.
    heat: (node) =>
      ofPods ? weight(node) / (most || 1) : view.marked && weight(node) === 0 ? 0 : Math.min(1, share(node)),
    figure: (node) => String(ofPods ? weight(node) : Math.round(100 * share(node))),
    ofPods,
    dense: nodes.length > MANY_NODES || (step.pods ?? []).length > MANY_PODS,
    named: (step.pods ?? []).filter((pod) => !ofDaemonSet(pod)).length <= NAMED_PODS,
  };
}

export function mapOf(step) {
  const world = worldOf(step);
  const keys = keysFor(world.nodes);
  const groups = nested(world.nodes, keys);
  if (world.nodes.length === 0) return h("p", {class: "hint"}, "There are no nodes.");
  return h(
    "div",
    {class: "map" + (world.dense ? " dense" : "")},
    groups.length === 0 ? nodesIn(world, world.nodes, "all") : groups.map((group) => groupOf(world, group, "", false)),
  );
}

// choicesOf is what the map of many nodes can be coloured and grouped by.
export function choicesOf(step) {
  const {dense, requested} = worldOf(step);
  if (!dense && groupKeys.length === levelKeys.length) return null;
  const choose = (choice) => {
    Object.assign(view, choice);
    around.chosen();
    redrawMap();
  };
  const select = (label, at, none, keys) =>
    h(
      "label",
      {},
      label,
      h(
        "select",
        {
          "data-focus": label,
          change: ({target: {value}}) => {
            view.open.clear();
            choose({by: [...view.by.slice(0, at), value].filter(Boolean)});
          },
        },
        h("option", {value: ""}, none),
        keys.map((key) => h("option", {value: key, selected: view.by[at] === key}, key)),
      ),
    );
  return h(
    "div",
    {class: "choices"},
    dense &&
      requested.size > 0 &&
      h(
        "div",
        {role: "group", "aria-label": "Colour of the nodes"},
        ["Pods", "CPU", "Memory"].map((heat) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(view.heat === heat),
              "data-focus": "heat " + heat,
              click: () => choose({heat}),
            },
            heat,
          ),
        ),
      ),
    groupKeys.length > 0 && select("Group by", 0, levelKeys.map(noun).join(", ") || "nothing", groupKeys),
    view.by.length > 0 &&
      select(
        "then by",
        1,
        "nothing",
        groupKeys.filter((key) => key !== view.by[0]),
      ),
  );
}

// keysFor are the levels that the map nests: so many that the groups stay countable.
function keysFor(nodes) {
  const keys = view.by.length > 0 ? view.by : levelKeys;
  for (let depth = keys.length; depth > 0; depth--) {
    const paths = new Set(
      nodes.map((node) => JSON.stringify(keys.slice(0, depth).map((key) => domainOf(node, key) ?? null))),
    );
    if (paths.size <= GROUPS) return keys.slice(0, depth);
  }
  return [];
}

const isFoundPod = (pod) => view.found?.pod?.name === pod.name && view.found.pod.namespace === pod.namespace;
const isFailed = (key, domain) => view.failed?.key === key && view.failed.domains.includes(domain);

function groupOf(world, group, path, within) {
  // within tells that all around it failed, and says so
  const place = path + "/" + (group.value ?? "");
  const held = group.nodes.reduce((sum, node) => sum + countPods(world.pods.get(node.name) ?? []), 0);
  const lost = group.nodes.filter((node) => world.failed.has(node.name)).length;
  const whole = lost === group.nodes.length;
  const leaf = group.groups.length === 0;
  const around = path.slice(path.lastIndexOf("/") + 1) + "-"; // a narrow cell need not repeat the zone's name
  const short =
    world.dense && path.lastIndexOf("/") > 0 && group.value?.startsWith(around)
      ? group.value.slice(around.length)
      : group.value;
  const numbers = `${count(group.nodes.length, "node")}, ${count(held, "pod")}`;
  const title =
    group.value === undefined
      ? h("span", {class: "domain none"}, h("b", {}, "no " + noun(group.key)))
      : h(
          "button",
          {
            type: "button",
            class: "domain",
            "aria-pressed": String(isFailed(group.key, group.value)),
            "data-focus": "domain " + place,
            "data-key": group.key,
            "data-domain": group.value,
            "aria-label": `${noun(group.key)} ${group.value}, ${numbers}${whole ? ", failed" : ""}; fail it`,
            click: (event) => select(group.key, group.value, event.shiftKey || event.ctrlKey || event.metaKey),
          },
          h("span", {class: "noun"}, noun(group.key)),
          " ",
          h("b", {title: group.value}, short),
          whole && !within && h("span", {class: "state"}, "failed"),
        );
  return h(
    "div",
    {
      class:
        "group" +
        (leaf && view.open.has(place) ? " opened" : "") +
        (whole ? " failed" : "") +
        (view.found?.key === group.key && view.found.domain === group.value ? " found" : ""),
      role: "group",
      "aria-label": `${noun(group.key)} ${group.value ?? "none"}`,
      style: {"--leaves": String(leavesOf(group))},
    },
    h(
      "div",
      {class: "title"},
      title,
      (world.dense || group.nodes.length > 1) &&
        h(
          "span",
          {class: "numbers"},
          world.dense ? number(group.nodes.length) + " · " + number(held) : count(held, "pod"),
        ),
      leaf && world.dense && expander(place, `nodes of ${noun(group.key)} ${group.value ?? "none"}`),
    ),
    leaf
      ? nodesIn(world, group.nodes, place)
      : h(
          "div",
          {class: "groups"},
          group.groups.map((inner) => groupOf(world, inner, place, whole)),
        ),
  );
}

// leavesOf is how many innermost groups a group has, by which it gets its part of the row.
const leavesOf = (group) => group.groups.reduce((sum, inner) => sum + leavesOf(inner), 0) || 1;

// expander shows the nodes of a group as cards instead of cells.
function expander(place, label) {
  const open = view.open.has(place);
  return h(
    "button",
    {
      type: "button",
      class: "expand",
      "aria-expanded": String(open),
      "aria-label": (open ? "Collapse the " : "List the ") + label,
      "data-focus": "expand " + place,
      click: () => {
        if (!view.open.delete(place)) view.open.add(place);
        redrawMap();
      },
    },
    open ? "−" : "+",
  );
}

function nodesIn(world, nodes, place) {
  if (world.dense && !view.open.has(place)) return cellsOf(world, nodes, place);
  const cards = h("div", {class: "nodes"});
  const first = nodes.filter(isFound); // what was searched for is among the cards shown
  return many(cards, [...first, ...nodes.filter((node) => !isFound(node))], CARDS, (some) =>
    cards.append(...some.map((node) => cardOf(world, node))),
  );
}

function cardOf(world, node) {
  const failed = world.failed.has(node.name);
  const pods = world.pods.get(node.name) ?? [];
  const domain = domainOf(node, HOSTNAME);
  const signs = signsOf(node);
  const words = [count(countPods(pods), "pod"), ...signs.map(([, text]) => text), failed && "failed"]
    .filter(Boolean)
    .join(", ");
  return h(
    "div",
    {
      class:
        "node" +
        (failed ? " failed" : "") +
        (signs.length > 0 ? " signed" : "") +
        (node.notReady ? " notready" : "") +
        (isFound(node) ? " found" : ""),
      click: (event) => {
        if (!event.target.closest("button")) select(HOSTNAME, domain, event.shiftKey || event.ctrlKey || event.metaKey);
      },
    },
    h(
      "button",
      {
        type: "button",
        class: "name",
        "aria-pressed": String(isFailed(HOSTNAME, domain)),
        "aria-label": `node ${node.name}, ${words}; fail it`,
        title: capacity(node),
        "data-focus": "node " + node.name,
        "data-key": HOSTNAME,
        "data-domain": domain,
        click: (event) => select(HOSTNAME, domain, event.shiftKey || event.ctrlKey || event.metaKey),
      },
      node.name,
    ),
    failed && h("span", {class: "state"}, "failed"),
    labelsOf(world.step, node),
    signs.length > 0 &&
      h(
        "ul",
        {class: "signs"},
        signs
          .slice(0, 3)
          .map(([sign, text, title]) => h("li", {title}, h("span", {"aria-hidden": "true"}, sign + " "), parted(text))),
        signs.length > 3 && h("li", {}, `and ${signs.length - 3} more`),
      ),
    h(
      "div",
      {class: "uses"},
      uses(node, world.requested).map((use) =>
        h(
          "span",
          {class: "use" + (use.share >= 0.9 ? " warn" : ""), title: `${use.of}: ${use.words} requested`},
          h("small", {}, `${use.of} ${percent(use.share)}`),
          h("span", {class: "track", style: {"--share": Math.min(1, use.share)}, "aria-hidden": "true"}),
        ),
      ),
    ),
    h(
      "div",
      {class: "pods"},
      chipsOf(
        world,
        pods.filter((pod) => !ofDaemonSet(pod)),
        failed,
      ),
      folded(pods.filter(ofDaemonSet)),
      (world.arrivals.get(node.name) ?? [])
        .slice(0, PODS_ON_CARD)
        .map((pod) =>
          chip(
            marks.get(workloadOf(pod)) ?? unknown,
            "arrived",
            `${qualified(pod.namespace, pod.name)} comes back here`,
            world.named && shortName(pod),
          ),
        ),
    ),
  );
}

// labelsOf are the node's labels that the rules of the step's pods name as topology keys.
function labelsOf(step, node) {
  const keys = (step.topologyKeys ?? []).filter((key) => domainOf(node, key) !== undefined);
  if (keys.length === 0) return null;
  return h(
    "ul",
    {class: "nodelabels", "aria-label": "Labels that rules name"},
    keys.map((key) => {
      const slash = key.lastIndexOf("/") + 1;
      return h(
        "li",
        {},
        h("span", {}, parted(key.slice(0, slash))),
        h("wbr"),
        h("b", {}, parted(`${key.slice(slash)}=${domainOf(node, key)}`)),
      );
    }),
  );
}

// folded counts the pods of DaemonSets.
const folded = (pods) =>
  pods.length > 0 &&
  h(
    "small",
    {class: "folded", title: pods.map((pod) => pod.workload).join(", ")},
    `+${number(pods.length)} of ${pods.length === 1 ? "a DaemonSet" : "DaemonSets"}`,
  );

function capacity(node) {
  const parts = [node.name];
  if (node.cpu) parts.push(figure(node.cpu) + " CPU");
  if (node.memory) parts.push(figure(node.memory / 2 ** 30) + " GiB");
  if (node.pods) parts.push("up to " + count(node.pods, "pod"));
  return parts.join(", ");
}

// chipsOf shows each pod, or where there are many the number of each workload's.
function chipsOf(world, pods, lost) {
  const kind = (key, status, pods) =>
    [
      pods.some(isFoundPod) && "found",
      lost && "lost",
      view.marked && key !== view.marked && "dim",
      status && status !== "Running" && "off",
    ]
      .filter(Boolean)
      .join(" ");
  if (pods.length <= PODS_ON_CARD) {
    return pods.map((pod) =>
      chip(
        marks.get(workloadOf(pod)),
        kind(workloadOf(pod), pod.status, [pod]),
        `${qualified(pod.namespace, pod.name)}, ` +
          `${pod.status}${pod.waits ? ", " + pod.waits : ""}${lost ? ", lost" : ""}`,
        world.named && shortName(pod),
        pod,
      ),
    );
  }
  return groupBy(pods, workloadOf)
    .slice(0, PODS_ON_CARD)
    .map((of) => {
      const mark = marks.get(workloadOf(of[0]));
      return chip(
        mark,
        kind(mark.key, undefined, of),
        `${count(of.length, "pod")} of ${mark.title}${lost ? ", lost" : ""}`,
        "×" + number(of.length),
      );
    });
}

// legendOf names the workloads; pressing one shows its pods alone.
export function legendOf(step) {
  const keys = new Set((step.pods ?? []).map(workloadOf));
  const daemons = new Set((step.pods ?? []).filter(ofDaemonSet).map(workloadOf));
  const used = [...marks.values()].filter((mark) => keys.has(mark.key) && !daemons.has(mark.key));
  const {dense, most, ofPods} = worldOf(step);
  const list = h("ul", {class: "legend", "aria-label": "Workloads"});
  many(list, used, dense ? 8 : 16, (some) =>
    list.append(
      ...some.map((mark) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(view.marked === mark.key),
              "data-focus": "legend " + mark.key,
              title: "Show its pods alone",
              click: () => {
                view.marked = view.marked === mark.key ? null : mark.key;
                redrawMap();
              },
            },
            chip(mark),
            mark.title,
          ),
        ),
      ),
    ),
  );
  return h(
    "div",
    {class: "legends"},
    dense && densityLegend(ofPods ? ["Pods on a node: 0 ", number(most)] : [view.heat + " requested: 0% ", "100%"]),
    list,
    paleLegend(step),
    daemons.size > 0 &&
      h(
        "p",
        {class: "hint"},
        `The pods of ${count(daemons.size, "DaemonSet")} are counted, not drawn: ${firsts(
          [...daemons].map((key) => marks.get(key).title),
          4,
        )}.`,
      ),
  );
}

// paleLegend says what the pale chips are: pods that have a node and do not run.
function paleLegend(step) {
  const kinds = Map.groupBy(
    (step.pods ?? []).filter((pod) => pod.node && pod.status && pod.status !== "Running" && !ofDaemonSet(pod)),
    ({status}) => status,
  );
  if (kinds.size === 0) return null;
  return h(
    "p",
    {class: "hint pale"},
    chip(unknown, "off"),
    "does not run: ",
    [...kinds].map(([status, pods]) => `${number(pods.length)} ${status}`).join(", "),
    kinds.has("Terminating") && (kinds.size > 1 ? "; pods that are Terminating are not counted" : ", not counted"),
    ".",
  );
}

function densityLegend([least, most]) {
  const key = (...parts) => h("span", {class: "key"}, parts),
    swatch = (kind, share) => h("span", {class: "swatch " + kind, style: {"--share": share}, "aria-hidden": "true"});
  return h(
    "p",
    {class: "density"},
    key(
      least,
      [0, 0.25, 0.5, 0.75, 1].map((share) => swatch("", share)),
      " " + most,
    ),
    key(swatch("corner", 0), "tainted, cordoned or NotReady"),
    key(swatch("hatched", 0), "failed"),
    key(swatch("ring", 0), "gets pods back"),
  );
}

// trayOf holds the pods without a node; after a failure those that stay without one, too.
export function trayOf(step) {
  const pending = (step.pods ?? [])
    .filter((pod) => !pod.node)
    .map((pod) => ({...pod, state: pod.nominated ? "nominated to " + pod.nominated : "Pending"}));
  const failure = view.failed && failureOf(step, view.failed.key, view.failed.domains);
  const stranded = (failure ? (recoveryOf(step, view.failed.key, failure).recovery?.stranded ?? []) : []).map(
    (pod) => ({...pod, state: "stranded"}),
  );
  const known = new Set(pending.map(podKey)),
    waiting = new Set(stranded.map(podKey)); // what takes a lost pod's place is not one of the step's
  const all = [...stranded, ...pending.filter((pod) => !waiting.has(podKey(pod)))];
  if (all.length === 0) return null;
  const tray = h(
    "div",
    {class: "tray", role: "group", "aria-label": "Pods without a node"},
    h("h4", {}, `Without a node: ${number(all.length)}`),
  );
  const groups = groupBy(all, (pod) => JSON.stringify([workloadOf(pod), sameWait(pod), pod.state]));
  groups.sort((a, b) => b.some(isFoundPod) - a.some(isFoundPod)); // what was searched for is among those shown
  return many(tray, groups, 3, (some) =>
    tray.append(
      ...some.map((pods) => {
        const mark = marks.get(workloadOf(pods[0])) ?? unknown,
          kind = (pods) => pods[0].state + (pods.some(isFoundPod) ? " found" : "");
        return h(
          "div",
          {class: "waiting"},
          h(
            "p",
            {},
            pods.length <= 8
              ? pods.map((pod) =>
                  chip(
                    mark,
                    kind([pod]),
                    qualified(pod.namespace, pod.name),
                    shortName(pod),
                    known.has(podKey(pod)) && pod,
                  ),
                )
              : chip(mark, kind(pods), mark.title, "×" + number(pods.length)),
            h("span", {class: "state"}, pods[0].state),
          ),
          waitsOf(pods[0]).map((line) => h("p", {class: "message", title: line}, line)),
          causes(pods[0]),
        );
      }),
    ),
  );
}
