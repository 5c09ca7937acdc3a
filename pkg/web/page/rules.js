// The rules that keep the pods of a workload apart from each other, as pkg/cluster/rule has them: anti-affinity and
// spread constraints whose selectors match the pods themselves. A rule set here is the one that simulate compare
// --rules tries.
//
//   keptApart(workload) → [{rule: "soft" | "hard" | "spread", path, topologyKey, weight?}]
//       path is the term's place in the object
//   ruleOf(terms) → "none" | "soft" | "hard" | "spread" | "several"
//   keptFrom(workload, others) → [{rule: "soft" | "hard", other: workload, own}]
//       anti-affinity between the pods of the workload and those of another one; own tells that it is the workload's rule
//   wishesOf(workload) → [{of: "near" | "away from" | "nodes with", what, path, weight}]
//       all other preferred terms: of affinity to pods, of anti-affinity to other pods, of affinity to nodes
//   keepApart(workload, rule) → [{op: "put" | "insert" | "remove", path, value?}]
//       edits of the object, to be made in order
//   selectorOf(workload) → label selector | undefined
//       what the rules of its pods select

import {get} from "./yamltext.js";

const HOSTNAME = "kubernetes.io/hostname";
const SPEC = ["spec", "template", "spec"];
const ANTI = [...SPEC, "affinity", "podAntiAffinity"];
const LISTS = {
  hard: [...ANTI, "requiredDuringSchedulingIgnoredDuringExecution"],
  soft: [...ANTI, "preferredDuringSchedulingIgnoredDuringExecution"],
  spread: [...SPEC, "topologySpreadConstraints"],
};

export function keptApart(workload) {
  const own = get(workload.object, ["spec", "template", "metadata", "labels"]) ?? {};
  return Object.entries(LISTS)
    .flatMap(([rule, list]) =>
      termsOf(workload, list).map((item, i) => {
        const path = [...list, i, ...(rule === "soft" ? ["podAffinityTerm"] : [])],
          term = rule === "soft" ? item?.podAffinityTerm : item;
        const elsewhere =
          rule !== "spread" && term?.namespaces?.length > 0 && !term.namespaces.includes(workload.namespace);
        return (
          !elsewhere &&
          matches(term?.labelSelector, own) && {
            rule,
            path,
            topologyKey: term.topologyKey,
            ...(rule === "soft" ? {weight: item.weight} : {}),
          }
        );
      }),
    )
    .filter(Boolean);
}

export function keptFrom(workload, others) {
  const labelsOf = ({object}) => get(object, ["spec", "template", "metadata", "labels"]) ?? {};
  const keeps = (rule, from, to) =>
    termsOf(from, LISTS[rule]).some((item) => {
      const term = rule === "soft" ? item?.podAffinityTerm : item;
      const within = term?.namespaces?.length > 0 ? term.namespaces : [from.namespace];
      return within.includes(to.namespace) && matches(term?.labelSelector, labelsOf(to));
    });
  return others
    .filter(
      (other) => other.namespace !== workload.namespace || other.kind !== workload.kind || other.name !== workload.name,
    )
    .flatMap((other) =>
      ["hard", "soft"].flatMap((rule) => [
        ...(keeps(rule, workload, other) ? [{rule, other, own: true}] : []),
        ...(keeps(rule, other, workload) ? [{rule, other, own: false}] : []),
      ]),
    );
}

export function wishesOf(workload) {
  const apart = new Set(keptApart(workload).map(({path}) => path.slice(0, -1).join()));
  const affinity = [...SPEC, "affinity"],
    preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const pods = (item) => inWords(item?.podAffinityTerm?.labelSelector);
  return [
    {of: "near", list: [...affinity, "podAffinity", preferred], what: pods},
    {of: "away from", list: [...affinity, "podAntiAffinity", preferred], what: pods},
    {of: "nodes with", list: [...affinity, "nodeAffinity", preferred], what: (item) => inWords(item?.preference)},
  ].flatMap(({of, list, what}) =>
    termsOf(workload, list)
      .map((item, i) => ({of, what: what(item), path: [...list, i, "weight"], weight: item?.weight}))
      .filter(({path, weight}) => Number.isInteger(weight) && !apart.has(path.slice(0, -1).join())),
  );
}

// inWords is a label selector, or a term about nodes.
const inWords = (selector) =>
  [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`),
    ...(selector?.matchExpressions ?? []).map(({key, operator, values = []}) =>
      operator === "In" && values.length === 1
        ? `${key}=${values[0]}`
        : `${key} ${operator} ${values.join(",")}`.trim(),
    ),
  ].join(", ");

export function ruleOf(terms) {
  const rules = new Set(terms.map((term) => term.rule));
  return rules.size > 1 ? "several" : ([...rules][0] ?? "none");
}

export function keepApart(workload, rule) {
  const own = keptApart(workload),
    selector = selectorOf(workload),
    edits = [];
  const over = new Map();
  for (const {topologyKey, weight} of own) if (!over.has(topologyKey)) over.set(topologyKey, weight ?? 100);
  if (over.size === 0) over.set(HOSTNAME, 100);
  const made =
    rule === "none" ? [] : [...over].map(([topologyKey, weight]) => termOf(rule, topologyKey, weight, selector));
  const there = made.length > 0 ? termsOf(workload, LISTS[rule]) : [];
  if (there.length > 0)
    made.forEach((value, i) => edits.push({op: "insert", path: [...LISTS[rule], there.length + i], value}));
  else if (made.length > 0) edits.push({op: "put", path: LISTS[rule], value: made});
  const left = new Map(
    Object.entries(LISTS).map(([name, list]) => [
      name,
      termsOf(workload, list).length + (name === rule ? made.length : 0),
    ]),
  );
  for (const term of own.toReversed()) {
    left.set(term.rule, left.get(term.rule) - 1);
    const path = LISTS[term.rule];
    edits.push({
      op: "remove",
      path: left.get(term.rule) > 0 ? term.path.slice(0, path.length + 1) : pruned(workload, path, left),
    });
  }
  return edits;
}

// pruned is the path of what is empty once the list is: the list, the anti-affinity around it, or all of the affinity.
function pruned(workload, list, left) {
  if (list === LISTS.spread || left.get("hard") + left.get("soft") > 0) return list;
  const others = (path, but) => Object.keys(get(workload.object, path) ?? {}).some((key) => !but.includes(key));
  if (others(ANTI, [LISTS.hard.at(-1), LISTS.soft.at(-1)])) return list;
  return others(ANTI.slice(0, -1), ["podAntiAffinity"]) ? ANTI : ANTI.slice(0, -1);
}

function termOf(rule, topologyKey, weight, labelSelector) {
  if (rule === "spread") return {maxSkew: 1, topologyKey, whenUnsatisfiable: "DoNotSchedule", labelSelector};
  return rule === "hard" ? {topologyKey, labelSelector} : {weight, podAffinityTerm: {topologyKey, labelSelector}};
}

export function selectorOf({kind, object}) {
  const labels = get(object, ["spec", "template", "metadata", "labels"]);
  if (kind === "Job") return labels && {matchLabels: labels};
  if (kind !== "ReplicationController") return object.spec?.selector;
  return (object.spec?.selector ?? labels) ? {matchLabels: object.spec.selector ?? labels} : undefined;
}

const termsOf = (workload, list) => {
  const terms = get(workload.object, list);
  return Array.isArray(terms) ? terms : [];
};

// matches tells whether a label selector selects labels: none selects nothing, an empty one all.
function matches(selector, labels) {
  if (!selector) return false;
  return (
    Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value) &&
    (selector.matchExpressions ?? []).every(
      ({key, operator, values = []}) =>
        ({
          In: values.includes(labels[key]),
          NotIn: !values.includes(labels[key]),
          Exists: key in labels,
          DoesNotExist: !(key in labels),
        })[operator],
    )
  );
}
