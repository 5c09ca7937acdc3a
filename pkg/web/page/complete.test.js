import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import test from "node:test";
import {complete, hover, knownIn} from "./complete.js";
import {shipped} from "./shipped.js";

const schema = JSON.parse(readFileSync(new URL("../../../docs/scenario.schema.json", import.meta.url), "utf8"));
const known = {
  files: ["web.yaml", "apps"],
  targets: ["deployment/web", "statefulset/db"],
  keys: ["topology.kubernetes.io/zone", "rack"],
  nodes: ["a-worker-1"],
};

// at completes where the text has ‸, and gives the labels.
const at = (marked) => {
  const offset = marked.indexOf("‸"),
    text = marked.replace("‸", "");
  const found = complete(text, offset, schema, known);
  return found && {from: offset - found.from, labels: found.options.map(({label}) => label)};
};
const has = (marked, want, not = []) => {
  const found = at(marked);
  for (const label of want) assert.ok(found?.labels.includes(label), `${label} in ${JSON.stringify(found)}`);
  for (const label of not) assert.ok(!found?.labels.includes(label), `${label} not in ${JSON.stringify(found)}`);
};

const STEP = ["name", "description", "apply", "scale", "cordon", "expect"];
for (const [name, text, want, not] of /** @type {[string, string, string[], string[]?][]} */ ([
  ["an empty text", "‸", ["apiVersion", "kind", "cluster", "steps"], ["apply"]],
  ["further keys", "kind: Scenario\n‸\nsteps:\n- name: a\n", ["cluster", "metadata"], ["kind", "steps", "name"]],
  ["a key of a step", "steps:\n- name: a\n  ‸", STEP.slice(1), ["name", "steps"]],
  ["a key after a dash", "steps:\n- ‸", STEP],
  ["a key after an indented dash", "steps:\n  - name: a\n    fresh: true\n  - na‸", ["name"], ["apply"]],
  ["a key in the middle of a word", "steps:\n- name: a\n  exp‸", ["expect"], ["apply"]],
  ["a nested key", "steps:\n- name: a\n  expect:\n    ‸\n- name: b\n", ["pending", "domains"], ["name"]],
  [
    "a key in a nested list",
    "steps:\n- name: a\n  expect:\n    domains:\n    - topologyKey: rack\n      ‸",
    ["min", "max", "exactly"],
    ["topologyKey", "pending"],
  ],
  ["a key in braces", "steps:\n- {name: a, ‸}\n", ["apply", "scale"], ["name"]],
  [
    "a key in braces that do not end",
    "steps:\n- name: a\n  expect: {pending: 0, domains: [{topologyKey: rack, m‸\n- name: b\n",
    ["min", "max"],
    ["topologyKey"],
  ],
  [
    "a key before others in braces",
    "cluster:\n- synthetic: {‸ zones: [{count: 3}], nodeGroups: []}\n",
    ["regions", "levels"],
    ["zones", "nodeGroups"],
  ],
  ["a key in braces over lines", "steps:\n- {name: a,\n   expect: {‸\n", ["pending"], ["name"]],
  ["after brackets that do not end", "cluster: [\nsteps:\n- name: a\n  ‸", ["apply"], ["name"]],
  [
    "after braces that do not end",
    "steps:\n- name: a\n  expect: {pending: 0, domains: [\n- name: b\n  ‸",
    ["apply"],
    ["name", "pending"],
  ],
  ["an enum", "steps:\n- name: a\n  fail: {mode: ‸}\n", ["unreachable", "out-of-service", "deleted"]],
  ["an enum in a block", "ties: r‸\nsteps: []\n", ["random"], ["name"]],
  ["a boolean", "steps:\n- fresh: ‸", ["true", "false"]],
  ["the only value", "kind: ‸", ["Scenario"]],
  ["files in brackets", "workloads:\n- files: [web.yaml, ‸]\n", ["web.yaml", "apps"]],
  ["files in lines", "workloads:\n- files:\n  - w‸\n", ["web.yaml"], ["apps"]],
  ["a file in quotes", "workloads:\n- files: ['w‸\n", ["web.yaml"]],
  ["a target", "steps:\n- name: a\n  scale: {target: dep‸, replicas: 3}\n", ["deployment/web"], ["statefulset/db"]],
  ["targets", "steps:\n- name: a\n  delete:\n    targets: [‸\n", ["deployment/web", "statefulset/db"]],
  ["a workload as a key", "variants:\n- name: a\n  replicas: {‸}\n", ["deployment/web"]],
  ["a topology key", "expect: {domains: [{topologyKey: ‸}]}\n", ["topology.kubernetes.io/zone", "rack"], ["zone"]],
  ["a level", "failures:\n  levels: [‸]\n", ["zone", "rack"]],
  ["a node", "steps:\n- name: a\n  cordon: {names: [‸]}\n", ["a-worker-1"]],
  ["a rule", "variants:\n- name: a\n  rules: [{rule: ‸}]\n", ["none", "soft", "hard", "spread"]],
]))
  test(`completes ${name}`, () => has(text, want, not));

for (const [name, text] of [
  ["a comment", "# k‸\nkind: Scenario\n"],
  ["a comment after a value", "kind: Scenario # ‸"],
  ["a block scalar", "description: |\n  k‸\n"],
  ["a block scalar in a list", "steps:\n- description: >-\n    ‸\n"],
  ["an object that is written out", "workloads:\n- objects:\n  - kind: ‸\n"],
  ["a text that goes on", "steps:\n- name: a\n    ‸\n"],
  ["a number", "seed: ‸"],
  ["a dash alone", "steps:\n-‸"],
])
  test(`completes nothing in ${name}`, () => assert.equal(at(text), undefined));

test("replaces what is typed, and writes what is missing", () => {
  const found = complete("steps:\n- na", 11, schema);
  assert.equal(found.from, 9);
  const {info, ...option} = found.options[0];
  assert.deepEqual(option, {label: "name", detail: "text, required", apply: "name: "});
  assert.match(info, /^Name is the step's name/);
  assert.equal(complete("steps:\n- na: x", 11, schema).options[0].apply, "name");
  assert.equal(complete('steps:\n- {fail: {mode: "un', 26, schema).from, 24);
});

test("hover describes the key", () => {
  const text = "steps:\n- name: a\n  expect: {pending: 0}\n  scale:\n    replicas: 3\n";
  const over = (word) => hover(text, text.indexOf(word) + 1, schema);
  assert.match(over("pending").info, /^Pending is the exact number of Pending pods/);
  assert.deepEqual([over("pending").from, over("pending").to], [text.indexOf("pending"), text.indexOf("pending") + 7]);
  assert.equal(over("expect").detail, "Expect");
  assert.equal(over("steps").detail, "list of Step");
  assert.match(over("replicas").info, /new number/);
  for (const word of ["a\n", "0}", ": 3"]) assert.equal(over(word), undefined, word);
});

test("every key of the shipped scenarios has a description, and is offered where it stands", () => {
  const described = "name|apply|expect|pending|synthetic|zones|nodeGroups|files|steps|fail|cordon|description|metadata";
  let seen = 0;
  for (const {name, input} of shipped()) {
    const text = input.files[input.main];
    for (const found of text.matchAll(new RegExp(`^( *(?:- )*)(${described}): ?`, "gm"))) {
      const offset = found.index + found[1].length + found[2].length;
      if (!hover(text, offset, schema)) {
        assert.match(
          text.slice(0, offset),
          /objects:|patch:|valuesInline:|description: *[|>]/,
          `${name}: ${found[0]} at ${offset}`,
        );
        continue;
      }
      seen++;
      const offered = complete(text, offset, schema)?.options.map(({label}) => label) ?? [];
      assert.ok(offered.includes(found[2]), `${name}: ${found[2]} at ${offset}`);
    }
  }
  assert.ok(seen > 400, String(seen));
});

test("no text, however broken, ends in an error", () => {
  const {input} = shipped().find(({name}) => name === "kind-walkthrough"),
    text = input.files[input.main];
  for (let offset = 0; offset < text.length; offset += 3) {
    for (const broken of [
      text.slice(0, offset),
      text.slice(0, offset) + "{" + text.slice(offset),
      text.slice(0, offset) + "}]'\"" + text.slice(offset),
    ]) {
      complete(broken, offset, schema, known);
      hover(broken, offset, schema);
    }
  }
});

test("what a scenario can name", () => {
  const {input} = shipped().find(({name}) => name === "ci");
  const found = knownIn(input, [{name: "n1", topology: {rack: "r"}}]);
  assert.deepEqual(found, {
    files: ["batch.yaml", "pull-request/web.yaml", "rendered/web.yaml", "pull-request", "rendered"],
    targets: ["deployment/batch", "deployment/web"].toSorted(),
    keys: ["rack"],
    nodes: ["n1"],
    steps: ["deploy"],
  });
});
