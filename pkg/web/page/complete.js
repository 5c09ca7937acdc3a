// Completion and descriptions from the scenario's JSON schema.
//
//   complete(text, offset, schema, known?) → {from, options: [{label, detail, info, apply}]} | undefined
//       what can be written at the offset: keys, the values of enums, true and false, and what of the input is named
//       there. label is what to look for, apply what to write, from the place of the first character to be replaced.
//   hover(text, offset, schema) → {from, to, label, detail, info} | undefined
//       the key at the offset, and what it means
//   knownIn(input, nodes?) → known
//       {files, targets, keys, nodes, steps}: what a scenario can name; keys are topology keys, and nodes those of a
//       report, [{name, topology}]

import {filesOf, listOf, scenarioOf, workloadsAt} from "./sources.js";
import {placeAt} from "./yamlplace.js";

const SHORT = ["zone", "region", "node", "cluster"];
const KEYS = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"];

export function complete(text, offset, schema, known = {}) {
  const place = placeAt(text, offset);
  if (!place) return undefined;
  const {path, kind, from, prefix, present} = place;
  const schemas = schemasAt(schema, path);
  const named = namesAt(path, known).map(([label, detail]) => ({label, detail, info: "", apply: quoted(label)}));
  const options = kind === "value" || path.at(-1) === "[]" ? [...named, ...schemas.flatMap(valuesOf)] : [];
  if (kind === "key") {
    const colon = /^\s*:/.test(text.slice(offset).replace(/^[\w./-]*/, "")) ? "" : ": ";
    for (const at of schemas)
      for (const option of keysOf(schema, at))
        if (!present.has(option.label)) options.push({...option, apply: option.label + colon});
    if (path.at(-1) === "rates" || path.at(-1) === "replicas")
      options.push(...named.map((option) => ({...option, apply: option.apply + colon})));
  }
  const fitting = unique(options).filter(({label}) => label.toLowerCase().includes(prefix.toLowerCase()));
  fitting.sort((a, b) => starts(b, prefix) - starts(a, prefix)); // otherwise as the schema has them
  return fitting.length > 0 ? {from, options: fitting} : undefined;
}

export function hover(text, offset, schema) {
  const to = offset + /^[\w./-]*/.exec(text.slice(offset))[0].length;
  const place = placeAt(text, to);
  if (place?.kind !== "key" || !/^["']?\s*:/.test(text.slice(to)) || place.prefix === "" || offset < place.from)
    return undefined;
  const option = schemasAt(schema, place.path)
    .flatMap((at) => keysOf(schema, at))
    .find(({label}) => label === place.prefix);
  return option && {from: place.from, to, label: option.label, detail: option.detail, info: option.info};
}

// schemasAt are the schemas that hold at a path; none where the schema says nothing, as in an object that is written
// out.
function schemasAt(schema, path) {
  return path.reduce(
    (at, key) =>
      at.flatMap((one) => all(schema, key === "[]" ? one.items : (one.properties?.[key] ?? additional(one)))),
    all(schema, schema),
  );
}

const additional = (one) => (typeof one.additionalProperties === "object" ? one.additionalProperties : undefined);

// all are the schema and its alternatives, with what they refer to. What stands beside a reference, the description, is
// of the field.
function all(schema, one) {
  if (!one) return [];
  const {$ref, oneOf = [], anyOf = [], ...own} = one;
  const to = $ref && schema.$defs[$ref.slice("#/$defs/".length)];
  return [
    ...(to ? all(schema, {...to, description: own.description ?? to.description}) : [own]),
    ...[...oneOf, ...anyOf].flatMap((other) => all(schema, other)),
  ];
}

const keysOf = (schema, at) =>
  Object.entries(at.properties ?? {}).map(([label, field]) => ({
    label,
    detail: typeWords(schema, field) + (at.required?.includes(label) ? ", required" : ""),
    info: all(schema, field)[0]?.description ?? "",
  }));

function valuesOf(at) {
  const values = at.enum ?? (at.const !== undefined ? [at.const] : at.type === "boolean" ? [true, false] : []);
  return values.map((value) => ({
    label: String(value),
    detail: "",
    info: at.description ?? "",
    apply: typeof value === "string" ? quoted(value) : String(value),
  }));
}

// typeWords says briefly what a field takes, as docs/scenario.md does.
function typeWords(schema, field) {
  const words = all(schema, field).flatMap((one) => {
    if (one.enum || one.const !== undefined) return (one.enum ?? [one.const]).join(", ");
    if (one.type === "array") return "list of " + (one.items ? typeWords(schema, one.items) : "anything");
    const title = field.$ref?.split("/").at(-1);
    if (one.type === "object")
      return title ?? (additional(one) ? "map of " + typeWords(schema, additional(one)) : "object");
    return {string: "text", integer: "whole number", boolean: "true, false"}[one.type] ?? one.type ?? [];
  });
  return [...new Set(words)].join(" or ");
}

// namesAt is what the input can name at the path: [[name, what it is]].
function namesAt(path, known) {
  const [key, list] = path.at(-1) === "[]" ? [path.at(-2), true] : [path.at(-1), false];
  const as = (names, what) => listOf(names).map((name) => [name, what]);
  switch (key) {
    case "files":
      return list ? as(known.files, "file") : [];
    case "config":
    case "values":
    case "profile":
      return as(known.files, "file");
    case "target":
    case "workload":
      return as(known.targets, "workload");
    case "targets":
    case "quorum":
      return list ? as(known.targets, "workload") : [];
    case "replicas":
      return as(known.targets, "workload");
    case "names":
      return list ? as(known.nodes, "node") : [];
    case "level":
    case "levels":
    case "rates":
      return [...as(SHORT, "short for the well-known key"), ...as(known.keys, "topology key")];
    case "topologyKey":
      return [
        ...(path.includes("over") ? as(SHORT, "short for the well-known key") : []),
        ...as(known.keys ?? KEYS, "topology key"),
      ];
  }
  return [];
}

export function knownIn(input, nodes = []) {
  const {scenario} = scenarioOf(input);
  const files = Object.keys(input.files).filter((file) => file !== input.main && filesOf(input, file).length > 0);
  const folders = files
    .filter((file) => file.includes("/"))
    .map((file) => file.slice(0, file.lastIndexOf("/")))
    .filter((folder) => !/^(\.\.\/?)+$/.test(folder));
  const steps = listOf(scenario.steps)
    .map((step) => step?.name)
    .filter((name) => typeof name === "string");
  const targets = [undefined, "workloads", ...steps].flatMap((step) =>
    workloadsAt(input, step).workloads.map(({kind, name}) => `${kind.toLowerCase()}/${name}`),
  );
  const keys = nodes.flatMap((node) => Object.keys(node.topology ?? {}));
  return {
    files: distinct([...files, ...folders]),
    targets: distinct(targets),
    keys: distinct(keys.length > 0 ? keys : KEYS),
    nodes: nodes.map(({name}) => name),
    steps,
  };
}

const distinct = (list) => [...new Set(list)];
const unique = (options) => [...new Map(options.map((option) => [option.label, option])).values()];
const starts = ({label}, prefix) => Number(label.toLowerCase().startsWith(prefix.toLowerCase()));
const quoted = (text) =>
  /^[\w./][\w./ -]*$/.test(text) && !/^(true|false|null|yes|no|on|off|[\d.]+)$/i.test(text)
    ? text
    : JSON.stringify(text);
