// Where the objects of a scenario stand in its texts. An input is {main, files: {path: text}}, as in the playground's
// contract.
//
//   scenarioOf(input) → {scenario, problem}
//       what the scenario's file says; problem is in words, or ""
//   stepAt(scenario, step) → index
//       of the step by name; -1 for what is applied before the first; the last one without a name
//   filesOf(input, name) → [path]
//       the files of the input that a name in the scenario stands for: a file, a folder or a glob
//   objectsIn(input, path) → {objects, problem}
//       the objects of a file: [{file, n, path, object, fixed}], where n is the document and path the object's place in
//       it; fixed tells of objects of JSON, such as a dump, which is not edited
//   workloadsAt(input, step) → {workloads, problems}
//       the workloads that there are after the step, where they were applied last: [{kind, namespace, name, file, n,
//       path, object, later, copied}], where later are the scales and patches since then: [{n: 0, file, path, value,
//       kind: "scale" | patch type, by}], where by says in words what does it; problems are files that have no workloads
//       that can be changed: [{of, reason}]; copied is the step to insert, {at, step}, before a workload of a dump
//       stands at its path, and can be changed there
//   patchesOf(input, workload) → later
//       all patches of what stands where the workload does, in whatever step, variant or sweep
//   setter(workload, fields) → {file, n, path, value} | {reason}
//       what sets a field last: the object itself, or a later step
//   targetOf(text) → "Deployment/web" | undefined
//       of a target such as deploy/web

import {documents, get, plain} from "./yamltext.js";

const KINDS = {
  Deployment: "deployment deployments deploy",
  ReplicaSet: "replicaset replicasets rs",
  StatefulSet: "statefulset statefulsets sts",
  ReplicationController: "replicationcontroller replicationcontrollers rc",
  Job: "job jobs",
  DaemonSet: "daemonset daemonsets ds",
};
const WORDS = new Map(Object.entries(KINDS).flatMap(([kind, words]) => words.split(" ").map((word) => [word, kind])));

export function scenarioOf(input) {
  const text = input.files[input.main] ?? "";
  const document = documents(text)[0];
  const scenario = document && plain(document);
  if (!scenario || typeof scenario !== "object")
    return {scenario: {}, problem: document?.problem || "there is no scenario yet"};
  return {
    scenario,
    problem: document.problem || (isJSON(text) ? "it is JSON: write it as YAML to change it here" : ""),
  };
}

export function stepAt(scenario, step) {
  const steps = listOf(scenario.steps),
    at = step === undefined ? -1 : steps.findIndex((one) => one?.name === step);
  return at >= 0 || step === "workloads" ? at : steps.length - 1;
}

export function filesOf(input, name) {
  if (typeof name !== "string" || name.startsWith("/")) return [];
  const path = normal(folderOf(input.main) + name);
  const all = new Map(Object.keys(input.files).map((file) => [normal(file), file]));
  if (all.has(path)) return [all.get(path)];
  const within = path === "." ? "" : path + "/";
  const below = (file) =>
    file.startsWith(within) &&
    /\.(yaml|yml|json)$/i.test(file) &&
    !file
      .slice(within.length)
      .split("/")
      .some((part) => part.startsWith("."));
  const match = /[*?[]/.test(name) ? globOf(path) : below;
  return [...all.keys()]
    .filter(match)
    .sort((a, b) => inOrder(a.replaceAll("/", "\0"), b.replaceAll("/", "\0")))
    .map((file) => all.get(file));
}

export function objectsIn(input, file) {
  const text = input.files[file];
  if (isJSON(text)) return dumped(text, file);
  const objects = [];
  let problem = "";
  documents(text).forEach((document, n) => {
    problem ||= document.problem;
    if (document.problem) return;
    const object = plain(document);
    if (/List$/.test(object?.kind) && Array.isArray(object.items))
      object.items.forEach((item, i) => objects.push({file, n, path: ["items", i], object: item}));
    else if (object?.kind) objects.push({file, n, path: [], object});
  });
  return {objects, problem};
}

const dumps = new Map(); // the last one read

// dumped reads the workloads and nodes of a file of JSON.
function dumped(text, file) {
  if (!dumps.has(text)) {
    dumps.clear();
    let object;
    try {
      object = JSON.parse(text.replace(/^\uFEFF/, ""));
    } catch {
      object = null; // the engine words the error
    }
    const all = listOf(object?.items ?? [object]).filter(
      (one) => Object.hasOwn(KINDS, one?.kind ?? "") || one?.kind === "Node",
    );
    dumps.set(
      text,
      all.map((one) => ({file, n: 0, path: [], object: one, fixed: true})),
    );
  }
  const objects = dumps.get(text);
  return {objects, problem: objects.length > 0 ? "" : "it is JSON without nodes and workloads"};
}

// copiedTo is the workload of a dump as it would stand in a step of its own before the given one.
function copiedTo(scenario, at, workload, shows) {
  const {apiVersion, kind, metadata, spec} = workload.object;
  const {name, namespace, labels} = metadata;
  const names = new Set(listOf(scenario.steps).map((step) => step?.name));
  let title = `change-${name}`;
  for (let n = 2; names.has(title); n++) title = `change-${name}-${n}`;
  const object = {apiVersion, kind, metadata: {name, ...(namespace && {namespace}), ...(labels && {labels})}, spec};
  return {
    ...workload,
    n: 0,
    path: ["steps", at, "apply", "objects", 0],
    object,
    copied: {at, shows, step: {name: title, apply: {objects: [object]}}},
  };
}

export function workloadsAt(input, step) {
  const {scenario} = scenarioOf(input);
  const found = new Map(),
    problems = new Map();
  const objectsOf = (source, path) => [
    ...listOf(source?.objects).map((object, i) => ({file: input.main, n: 0, path: [...path, "objects", i], object})),
    ...listOf(source?.files)
      .flatMap((name) => filesOf(input, name))
      .flatMap((file) => {
        const {objects, problem} = objectsIn(input, file);
        if (problem) problems.set(file, problem);
        return objects;
      }),
  ];
  const apply = (source, path, ofCluster) => {
    for (const one of objectsOf(source, path)) {
      const {kind, metadata} = one.object ?? {};
      if (!Object.hasOwn(KINDS, kind) || !metadata?.name || metadata.ownerReferences?.some((owner) => owner.controller))
        continue;
      const namespace = metadata.namespace ?? "default",
        key = [namespace, kind, metadata.name].join("/");
      const before = found.get(key);
      found.delete(key);
      found.set(key, {
        ...one,
        kind,
        namespace,
        name: metadata.name,
        later: [],
        ofCluster: ofCluster || before?.ofCluster,
      });
    }
  };
  const act = (action, path, kind) =>
    found
      .get(`${action?.namespace ?? "default"}/${targetOf(action?.target)}`)
      ?.later.push({
        file: input.main,
        n: 0,
        path,
        value: get(scenario, path),
        kind,
        by: `step ${get(scenario, path.slice(0, 2))?.name}`,
      });
  listOf(scenario.cluster).forEach((source, i) => apply(source, ["cluster", i], true));
  listOf(scenario.workloads).forEach((source, i) => apply(source, ["workloads", i]));
  listOf(scenario.steps)
    .slice(0, stepAt(scenario, step) + 1)
    .forEach((one, i) => {
      if (one?.fresh) for (const [key, workload] of found) if (!workload.ofCluster) found.delete(key);
      if (one?.apply) apply(one.apply, ["steps", i, "apply"]);
      if (one?.scale) act(one.scale, ["steps", i, "scale"], "scale");
      if (one?.patch) act(one.patch, ["steps", i, "patch", "patch"], one.patch.type ?? "strategic");
      for (const target of listOf(one?.delete?.targets))
        found.delete(`${one.delete.namespace ?? "default"}/${targetOf(target)}`);
      for (const {object} of objectsOf({files: one?.delete?.files}, []))
        found.delete([object.metadata?.namespace ?? "default", object.kind, object.metadata?.name].join("/"));
    });
  const place = stepAt(scenario, step),
    at = Math.max(0, place);
  const workloads = [...found.values()].map((workload) =>
    workload.fixed ? copiedTo(scenario, at, {...workload, file: input.main}, place < 0) : workload,
  );
  return {workloads, problems: [...problems].map(([of, reason]) => ({of, reason}))};
}

export function patchesOf(input, {kind, namespace, name, file, n, path}) {
  const {scenario} = scenarioOf(input);
  const of = (patch, by) => ({value: patch.patch, kind: patch.type ?? "strategic", path: [], by});
  const is = (patch) => targetOf(patch?.target) === `${kind}/${name}` && (patch.namespace ?? "default") === namespace;
  const here = (step) =>
    workloadsAt(input, step.name).workloads.some(
      (one) =>
        one.kind === kind &&
        one.name === name &&
        one.namespace === namespace &&
        one.file === file &&
        one.n === n &&
        one.path.join() === path.join(),
    );
  return [
    ...listOf(scenario.steps)
      .filter((step) => is(step?.patch) && here(step))
      .map((step) => of(step.patch, `step ${step.name}`)),
    ...[...listOf(scenario.variants), scenario.sweep?.variant].flatMap((variant) =>
      listOf(variant?.patches)
        .filter(is)
        .map((patch) => of(patch, variant.name ? `variant ${variant.name}` : "the sweep")),
    ),
  ];
}

export function setter(workload, fields) {
  let last = {...workload, path: [...workload.path, ...fields], value: get(workload.object, fields)};
  for (const {file, n, path, value, kind, by} of workload.later) {
    const reason = `${by} changes it: change it there`;
    if (kind === "json") {
      listOf(value).forEach((operation, i) => {
        const pointer = "/" + fields.join("/"),
          at = String(operation?.path);
        if (at === pointer && /^(add|replace)$/.test(operation.op))
          last = {file, n, path: [...path, i, "value"], value: operation.value};
        else if (pointer.startsWith(at + "/") || at === pointer || at.startsWith(pointer + "/")) last = {reason};
      });
      continue;
    }
    const set = kind === "scale" ? fields.join(".") === "spec.replicas" && value?.replicas : get(value, fields);
    const touched = fields.some((_, i) => get(value, fields.slice(0, i + 1)) === null);
    if (touched || (typeof set === "object" && set !== null)) last = {reason};
    else if (set !== undefined && set !== false)
      last = {file, n, path: kind === "scale" ? [...path, "replicas"] : [...path, ...fields], value: set};
  }
  return last;
}

export function targetOf(text) {
  const [word, name] = String(text).split("/");
  const kind = WORDS.get(word.toLowerCase());
  return kind && name && `${kind}/${name}`;
}

export const listOf = (value) => (Array.isArray(value) ? value : []);

const isJSON = (text) => /^\uFEFF?\s*[{[]/.test(text ?? "");

const inOrder = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const folderOf = (file) => file.slice(0, file.lastIndexOf("/") + 1);

// normal is the path without what it need not say.
function normal(path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "." || part === "") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/") || ".";
}

// globOf matches as Go's filepath.Match does: *, ? and [a-z] stay within a folder. It follows all ways to match at
// once, so that no pattern takes long.
function globOf(pattern) {
  const parts = pattern.match(/\\.|\[\^?\]?[^\]]*\]|[^]/gu) ?? [];
  const steps = parts.map((part) =>
    part === "*"
      ? part
      : part === "?"
        ? (c) => c !== "/"
        : /^\[.+\]$/s.test(part)
          ? classOf(part)
          : (c) => c === part.replace(/^\\(?=.)/s, ""),
  );
  const up = /^(\.\.\/)*/.exec(pattern)[0].length;
  return (path) => {
    if (/^(\.\.\/)*/.exec(path)[0].length !== up) return false; // no pattern stands for the folder above
    const beyond = (at) => {
      while (steps[at] === "*") at++;
      return at;
    };
    let places = new Set([0]);
    for (const c of path) {
      const next = new Set();
      for (const place of places) {
        for (let at = place; at <= beyond(place); at++) {
          if (steps[at] === "*") c !== "/" && next.add(at);
          else if (steps[at]?.(c)) next.add(at + 1);
        }
      }
      places = next;
    }
    return [...places].some((at) => beyond(at) === steps.length);
  };
}

function classOf(part) {
  const not = part[1] === "^",
    inner = [...part.slice(not ? 2 : 1, -1)];
  const ranges = [];
  for (let i = 0; i < inner.length; i++)
    inner[i + 1] === "-" && i + 2 < inner.length
      ? ranges.push([inner[i], inner[(i += 2)]])
      : ranges.push([inner[i], inner[i]]);
  return (c) => c !== "/" && ranges.some(([from, to]) => from <= c && c <= to) !== not;
}
