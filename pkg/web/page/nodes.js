// Numbers of nodes in the texts of a scenario: node groups of synthetic clusters, and workers of kind configurations.
//
//   nodeNumbers(input) → {numbers, problems}
//       numbers: [{id, label, of: {zone} | {cluster}, value, min, max, file, edits(value) → [{op, n, path, value?}]}]
//       problems: sources of nodes that have none: [{of, reason}]

import {documents, plain} from "./yamltext.js";
import {filesOf, listOf, objectsIn, scenarioOf} from "./sources.js";

const ZONE = "topology.kubernetes.io/zone",
  REGION = "topology.kubernetes.io/region";
const ZONES = 12; // of more zones none gets a number of its own

export function nodeNumbers(input) {
  const {scenario} = scenarioOf(input);
  const numbers = [],
    problems = [];
  const read = (source, path, cluster) => {
    if (source?.synthetic)
      numbers.push(
        ...ofSynthetic(source.synthetic, [...path, "synthetic"], cluster).map((number) => ({
          ...number,
          file: input.main,
        })),
      );
    for (const file of listOf(source?.files).flatMap((name) => filesOf(input, name))) {
      const {objects, problem} = objectsIn(input, file);
      const kind = objects.find(
        ({object}) => object.kind === "Cluster" && /^kind\.x-k8s\.io\//.test(object.apiVersion),
      );
      if (kind) numbers.push(...ofKind(kind, cluster).map((number) => ({...number, file})));
      else if (problem) problems.push({of: file, reason: problem});
      else if (objects.some(({object}) => object.kind === "Node"))
        problems.push({of: file, reason: "its nodes are written out one by one: add or remove them there"});
    }
    if (listOf(source?.objects).some((object) => object?.kind === "Node"))
      problems.push({of: input.main, reason: "its nodes are written out one by one: add or remove them there"});
  };
  listOf(scenario.cluster).forEach((source, i) => read(source, ["cluster", i], ""));
  listOf(scenario.clusters).forEach((member, m) =>
    listOf(member?.cluster).forEach((source, i) => read(source, ["clusters", m, "cluster", i], member.name ?? "")),
  );
  return {numbers, problems};
}

// ofSynthetic has a number for each node group where it stands, and for each zone that is listed by itself and has it
// from further out. Such a zone gets a list of its own with the first change: an inner list takes the place of the
// outer one, as pkg/topology has it.
function ofSynthetic(spec, path, cluster) {
  const numbers = [];
  const add = (at, groups, own, each, where, zone) =>
    groups.forEach((group, g) => {
      const field = group?.total === undefined ? "count" : "total",
        value = group?.[field];
      if (!Number.isInteger(value)) return;
      const words = field === "total" ? " all together" : each && ` in each ${each.slice(each.lastIndexOf("/") + 1)}`;
      numbers.push({
        id: ["nodes", ...path, ...at, g].join("."),
        label: `${cluster && cluster + ": "}${group.name ?? "node"} nodes${words}${where}`,
        of: {...(zone && {zone}), ...(cluster && {cluster})},
        value,
        ...range(value, field === "total" ? 5000 : 50),
        edits: (count) => [
          own
            ? {op: "put", n: 0, path: [...path, ...at, "nodeGroups", g, field], value: count}
            : {
                op: "put",
                n: 0,
                path: [...path, ...at, "nodeGroups"],
                value: groups.map((one, i) => (i === g ? {...one, count} : one)),
              },
        ],
      });
    });
  const walk = (place, at, where, outer) => {
    const regions = listOf(place?.regions),
      listed = listOf(place?.zones);
    const zones = or(place?.zones, outer.zones),
      levels = or(place?.levels, outer.levels),
      groups = or(place?.nodeGroups, outer.groups);
    const each =
      levels.at(-1)?.key ??
      (zones.length > 0 || regions.some((region) => region?.zones) ? "zone" : regions.length > 0 ? "region" : "");
    if (groups !== outer.groups) add(at, groups, true, each, where);
    regions.forEach((region, i) =>
      walk(region, [...at, "regions", i], ` of ${alone(region) ? "" : "each "}region ${region?.name ?? i + 1}`, {
        zones,
        levels,
        groups,
      }),
    );
    listed.forEach((zone, i) => {
      const own = or(zone?.nodeGroups, groups),
        each = or(zone?.levels, levels).at(-1)?.key ?? "";
      const words =
        ` ${each ? "of" : "in"} ${alone(zone) ? "" : "each "}zone ` +
        `${zone?.name ?? i + 1}${regions.length > 0 ? " of each region" : where}`;
      const name = alone(zone) && regions.length === 0 && !zone?.name?.includes("{") && zone?.name;
      const spare =
        alone(zone) &&
        listed.length > 1 &&
        listed.length <= ZONES &&
        groups.every((group) => group?.total === undefined);
      if (own !== groups || spare) add([...at, "zones", i], own, own !== groups, each, words, name);
    });
  };
  walk(spec, [], "", {zones: [], levels: [], groups: []});
  return numbers;
}

// ofKind has a number for each zone of the workers, or of each region, or of all of them. The copy of a worker is
// written at the end, so that the others keep their names.
function ofKind({n, object}, cluster) {
  const workers = listOf(object.nodes)
    .map((node, i) => ({node, i, labels: labelsOf(node)}))
    .filter(({node}) => node?.role === "worker");
  const groups = new Map();
  for (const worker of workers) {
    const name = worker.labels[ZONE] ?? worker.labels[REGION] ?? "";
    groups.set(name, [...(groups.get(name) ?? []), worker]);
  }
  return [...groups].map(([name, all]) => ({
    id: ["nodes", cluster, "kind", name].join("."),
    label: `${cluster && cluster + ": "}workers${name && ` in ${ZONE in all[0].labels ? "zone" : "region"} ${name}`}`,
    of: ZONE in all[0].labels ? {zone: name} : {cluster},
    value: all.length,
    ...range(all.length, 20),
    edits: (count) =>
      count >= all.length
        ? Array.from({length: count - all.length}, (_, more) => ({
            op: "insert",
            n,
            path: ["nodes", object.nodes.length + more],
            value: all.at(-1).node,
          }))
        : all
            .slice(count)
            .toReversed()
            .map(({i}) => ({op: "remove", n, path: ["nodes", i]})),
  }));
}

// labelsOf are the labels of a node of a kind configuration: its own, or those that a patch of kubeadm's gives the
// kubelet.
function labelsOf(node) {
  let labels = node?.labels ?? {};
  for (const patch of listOf(node?.kubeadmConfigPatches)) {
    for (const document of documents(String(patch))) {
      const args = plain(document)?.nodeRegistration?.kubeletExtraArgs;
      const given = Array.isArray(args)
        ? args.find((arg) => arg?.name === "node-labels")?.value
        : args?.["node-labels"];
      if (given)
        labels = Object.fromEntries(
          String(given)
            .split(",")
            .map((label) => label.trim().split("=")),
        );
    }
  }
  return labels;
}

const range = (value, most) => ({min: Math.min(1, value), max: Math.max(most, value)});
const alone = (one) => (one?.count ?? 1) === 1;
const or = (inner, outer) => (listOf(inner).length > 0 ? inner : outer);
