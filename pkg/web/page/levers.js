// The levers of a scenario: what can be pulled instead of typed. Each is read from the text and writes the text, so
// that the two never disagree. An input is {main, files: {path: text}}; nothing of it is changed in place.
//
//   read(input, step, nodes?) → {levers, without}
//       step is the name of the step that is looked at; nodes are those of the report, [{name, topology}], for the
//       topology keys there are, and for the nodes that can be cordoned.
//       levers: [{id, label, kind, value, of, …}]
//         kind "number" has min and max; kind "choice" has options: [value]; kind "toggle" is true or false
//         note, of a rule, says which rules keep its pods away from those of others
//         of is one of {workload: "deployment/web", namespace}, {zone}, {cluster}, {node}, {}
//         shows is the step that a change adds, and without which the change is not to be seen
//       without: [{of, reason}], what has no lever and why, in words
//   write(input, step, id, value, nodes?) → input
//       with one file changed, or the same input where the value is the same; throws an Error in words where that
//       cannot be written
//
// The ids: replicas, rule, key, weight, wish and maxSurge, each with the workload and, of several terms, the term: "key
// default/deployment/web 1"; "nodes…" for numbers of nodes; "failure mode"; "cordon NODE".

import {listed} from "#shared/words.js";
import {nodeNumbers} from "./nodes.js";
import {keepApart, keptApart, keptFrom, ruleOf, selectorOf, wishesOf} from "./rules.js";
import {listOf, patchesOf, scenarioOf, setter, stepAt, workloadsAt} from "./sources.js";
import {documents, insert, isShared, put, remove} from "./yamltext.js";

const KEYS = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"];
const RULES = ["none", "soft", "hard", "spread"];
const MODES = ["unreachable", "out-of-service", "deleted"]; // the first is the default
const NODES = 100; // of more nodes none has a toggle of its own in the list; write takes their ids all the same

export function read(input, step, nodes = []) {
  const {levers, without} = all(input, step, nodes);
  return {levers: levers.map(({file, edits, ...lever}) => lever), without};
}

// canWrite tells whether a lever can be written: what an anchor and its aliases share cannot. After an item is inserted,
// the next edits are of that copy, which shares nothing.
function canWrite(input, lever) {
  const all = documents(input.files[lever.file]);
  const other = {
    number: lever.value < lever.max ? lever.value + 1 : lever.value - 1,
    choice: lever.options?.find((option) => option !== lever.value),
    toggle: !lever.value,
  }[lever.kind];
  for (const {op, n, path} of lever.edits(other)) {
    if (op === "insert") return !isShared(all[n], path.slice(0, -1));
    if (isShared(all[n], path)) return false;
  }
  return true;
}

export function write(input, step, id, value, nodes = []) {
  const {levers} = all(input, step, nodes);
  const lever =
    levers.find((one) => one.id === id) ??
    (id.startsWith("cordon ") && cordonOf(input, step, {name: id.slice("cordon ".length)}));
  if (!lever?.edits) throw new Error(`there is no lever ${id} in step ${step}`);
  if (value === lever.value) return input;
  if (!fits(lever, value)) throw new Error(`${lever.label}: ${value} is not possible`);
  return written(input, lever, value);
}

function written(input, lever, value) {
  let text = input.files[lever.file];
  for (const {op, n, path, value: given} of lever.edits(value)) text = {put, insert, remove}[op](text, n, path, given);
  return {...input, files: {...input.files, [lever.file]: text}};
}

function fits(lever, value) {
  switch (lever.kind) {
    case "number":
      return Number.isInteger(value) && value >= lever.min && value <= lever.max;
    case "choice":
      return lever.options.includes(value);
  }
  return typeof value === "boolean";
}

function all(input, step, nodes) {
  const {scenario, problem} = scenarioOf(input);
  if (problem) return {levers: [], without: [{of: input.main, reason: problem}]};
  const {workloads, problems} = workloadsAt(input, step);
  const {numbers, problems: unread} = nodeNumbers(input);
  const levers = [],
    without = [...problems, ...unread.filter(({of}) => !problems.some((other) => other.of === of))];
  const keys = [...new Set(nodes.flatMap((node) => Object.keys(node.topology ?? {})))];
  for (const workload of workloads)
    ofWorkload(input, workload, workloads, keys.length > 0 ? keys : KEYS, levers, without);
  for (const number of numbers) levers.push({kind: "number", ...number});
  if (workloads.length > 0) levers.push(failureMode(input, scenario));
  if (stepAt(scenario, step) < 0)
    without.push({of: "cordons", reason: "a cordon is a step before another: choose a step"});
  else if (nodes.length > NODES)
    without.push({of: "cordons", reason: `there are more than ${NODES} nodes: choose one on the map`});
  for (const node of stepAt(scenario, step) < 0 || nodes.length > NODES ? [] : nodes) {
    const lever = cordonOf(input, step, node);
    if ("edits" in lever) levers.push(lever);
    else without.push(lever);
  }
  const can = levers.filter((lever) => canWrite(input, lever));
  for (const lever of levers)
    if (!can.includes(lever))
      without.push({
        of: lever.of.workload ?? lever.file,
        reason:
          `${lever.label} stands in an anchor of ${lever.file}, so that one change would be several: change ` +
          "it there",
      });
  return {levers: can, without};
}

// failureMode is how the nodes fail that are clicked on.
const failureMode = (input, scenario) => ({
  id: "failure mode",
  label: "Nodes fail as",
  of: {},
  kind: "choice",
  value: scenario.failures?.mode ?? MODES[0],
  options: MODES,
  file: input.main,
  edits: (mode) => [{op: "put", n: 0, path: ["failures", "mode"], value: mode}],
});

function ofWorkload(input, workload, workloads, keys, levers, without) {
  const {kind, namespace, name, object} = workload;
  const title = `${kind.toLowerCase()}/${name}`,
    of = {workload: title, namespace};
  const add = (what, label, nth, lever, place) => {
    if (place.reason) return without.push({of: `${what} of ${title}`, reason: place.reason});
    const {copied} = place;
    const edits = copied ? (value) => [copyOf(input, copied), ...lever.edits(value)] : lever.edits;
    const shows = copied?.shows && copied.step.name;
    levers.push({id: `${what} ${namespace}/${title}${nth}`, label, of, file: place.file, shows, ...lever, edits});
  };
  const put = (place) => (value) => [{op: "put", n: place.n, path: place.path, value}];
  if (!["Job", "DaemonSet"].includes(kind)) {
    const place = setter(workload, ["spec", "replicas"]),
      value = place.value ?? 1;
    add(
      "replicas",
      "Replicas",
      "",
      {kind: "number", value, min: 0, max: Math.max(100, 2 * value), edits: put(place)},
      place,
    );
  }
  if (kind !== "DaemonSet") ofRules(input, workload, workloads, keys, add);
  if (kind === "Deployment" && object.spec?.strategy?.type !== "Recreate") {
    const place = setter(workload, ["spec", "strategy", "rollingUpdate", "maxSurge"]);
    // Both 0 would be refused.
    const none = /^0%?$/.test(setter(workload, ["spec", "strategy", "rollingUpdate", "maxUnavailable"]).value ?? "");
    const value = place.value ?? "25%",
      options = [...(none ? [] : [0]), 1, 2, 3, "25%", "50%", "100%"];
    add(
      "maxSurge",
      "maxSurge",
      "",
      {kind: "choice", value, options: options.includes(value) ? options : [value, ...options], edits: put(place)},
      place,
    );
  }
}

// copyOf writes a workload of a dump into a step of its own.
const copyOf = (input, {at, step}) =>
  listOf(scenarioOf(input).scenario.steps).length > 0
    ? {op: "insert", n: 0, path: ["steps", at], value: step}
    : {op: "put", n: 0, path: ["steps"], value: [step]};

// noteOf says which rules keep pods away from those of other workloads, which the lever of a workload's own pods does not
// show.
function noteOf(kept) {
  const title = ({kind, name}) => `${kind.toLowerCase()}/${name}`;
  const parts = kept.map(({rule, other, own}) =>
    own ? `its ${rule} rule against ${title(other)}` : `the ${rule} rule of ${title(other)}`,
  );
  return parts.length > 0 ? {note: `besides, ${listed(parts)}`} : {};
}

// ofRules adds the rule, and the topology key and the weight of each of its terms.
function ofRules(input, workload, workloads, keys, add) {
  const changed = (later) =>
    ["affinity", "topologySpreadConstraints"]
      .map((field) => setter({...workload, later}, ["spec", "template", "spec", field]))
      .find((one) => one.reason);
  const place = changed(workload.later) ?? workload,
    everywhere = changed(patchesOf(input, workload)) ?? place; // which other rules would not fit
  const terms = keptApart(workload),
    value = ruleOf(terms);
  const inObject = ({path, ...edit}) => ({n: workload.n, ...edit, path: [...workload.path, ...path]});
  if (!selectorOf(workload)) return add("rule", "Rule", "", {}, {reason: "its pods have no labels"});
  add(
    "rule",
    "Rule",
    "",
    {
      kind: "choice",
      value,
      ...noteOf(keptFrom(workload, workloads)),
      options: value === "several" ? [value, ...RULES] : RULES,
      edits: (rule) => keepApart(workload, rule).map(inObject),
    },
    everywhere,
  );
  if (place.reason) return;
  terms.forEach((term, i) => {
    const nth = terms.length > 1 ? ` ${i + 1}` : "";
    const taken = terms.filter((other) => other !== term && other.rule === term.rule).map((other) => other.topologyKey);
    const options = [...new Set([term.topologyKey, ...keys])].filter(
      (key) => key === term.topologyKey || !taken.includes(key),
    );
    const choice = {
      kind: "choice",
      value: term.topologyKey,
      options: keys.includes(term.topologyKey) ? options.sort((a, b) => keys.indexOf(a) - keys.indexOf(b)) : options,
    };
    add(
      "key",
      `Topology key${nth}`,
      nth,
      {...choice, edits: (key) => [inObject({op: "put", path: [...term.path, "topologyKey"], value: key})]},
      everywhere,
    );
    if (term.rule !== "soft") return;
    add(
      "weight",
      `Weight${nth}`,
      nth,
      {
        kind: "number",
        value: term.weight,
        min: 1,
        max: 100,
        edits: (weight) => [inObject({op: "put", path: [...term.path.slice(0, -1), "weight"], value: weight})],
      },
      place,
    );
  });
  wishesOf(workload).forEach((wish, i) =>
    add(
      "wish",
      `Weight: ${wish.of} ${wish.what}`,
      ` ${i + 1}`,
      {
        kind: "number",
        value: wish.weight,
        min: 1,
        max: 100,
        edits: (weight) => [inObject({op: "put", path: wish.path, value: weight})],
      },
      place,
    ),
  );
}

// cordonOf is the lever that cordons the node before the step; without edits, but with a reason, where a step does so
// that is not only about nodes by name.
function cordonOf(input, step, node) {
  const {scenario} = scenarioOf(input);
  const at = stepAt(scenario, step),
    steps = listOf(scenario.steps);
  const selects = (action) =>
    action &&
    (listOf(action.names).includes(node.name) ||
      (typeof action.selector === "string" &&
        action.selector.split(",").every((one) => {
          const [key, value] = one.split(/==?/);
          return value !== undefined && node.topology?.[key.trim()] === value.trim();
        })));
  const last = steps
    .slice(0, at)
    .findLastIndex((one) => selects(one?.cordon) || selects(one?.uncordon) || selects(one?.drain));
  const value = last >= 0 && !selects(steps[last].uncordon);
  const names = listOf(steps[last]?.cordon?.names),
    lever = {
      id: `cordon ${node.name}`,
      label: `${node.name} cordoned`,
      kind: "toggle",
      value,
      of: {node: node.name},
      file: input.main,
    };
  if (value && !names.includes(node.name))
    return {
      of: node.name,
      reason: `step ${steps[last].name} ${steps[last].drain ? "drains" : "cordons"} it: change it there`,
    };
  if (value) {
    const path = ["steps", last],
      alone = names.length === 1 && !steps[last].cordon.selector;
    const own = Object.keys(steps[last]).every((key) => key === "name" || key === "cordon");
    return {
      ...lever,
      edits: () => [
        {
          op: "remove",
          n: 0,
          path: !alone ? [...path, "cordon", "names", names.indexOf(node.name)] : own ? path : [...path, "cordon"],
        },
      ],
    };
  }
  let name = `cordon-${node.name}`;
  for (let n = 2; steps.some((one) => one?.name === name); n++) name = `cordon-${node.name}-${n}`;
  return {
    ...lever,
    edits: () => [{op: "insert", n: 0, path: ["steps", at], value: {name, cordon: {names: [node.name]}}}],
  };
}
