import assert from "node:assert/strict";
import test from "node:test";
import {documents, get, insert, isShared, plain, put, remove} from "./yamltext.js";

const web = `# The head.
spec:
  # How many.
  replicas: 3 # three
  selector: {matchLabels: {app: web}}
  template:
    spec:
      # What runs.
      containers:
      - name: web   # the only one
        image: 'web:1'
`;

/** @type {[string, string, (text: string) => string, string][]} */
const cases = [
  ["a number", web, (t) => put(t, 0, ["spec", "replicas"], 5), web.replace("replicas: 3", "replicas: 5")],
  [
    "a new field, before what is there",
    web,
    (t) => put(t, 0, ["spec", "strategy", "rollingUpdate", "maxSurge"], "25%"),
    web.replace("  # How many", "  strategy: {rollingUpdate: {maxSurge: 25%}}\n  # How many"),
  ],
  [
    "a new list",
    web,
    (t) =>
      put(
        t,
        0,
        ["spec", "template", "spec", "constraints"],
        [{maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", labelSelector: {matchLabels: {app: "yes"}}}],
      ),
    web.replace(
      "      # What runs",
      `      constraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        labelSelector: {matchLabels: {app: "yes"}}
      # What runs`,
    ),
  ],
  ["a field in braces", "a: { b: 1 }\n", (t) => put(t, 0, ["a", "c"], [1, {d: 2}]), "a: { c: [1, {d: 2}], b: 1 }\n"],
  ["a field in empty braces", "a: {}\n", (t) => put(t, 0, ["a", "c", "d"], 1), "a: {c: {d: 1}}\n"],
  ["a field without a value", "a:\nb: 1\n", (t) => put(t, 0, ["a"], {c: 1}), "a: {c: 1}\nb: 1\n"],
  ["the second document", "a: 1\n---\na: 1\n", (t) => put(t, 1, ["a"], 2), "a: 1\n---\na: 2\n"],
  ["a field after a dash", "- a: 1\n  b: 2\n", (t) => put(t, 0, [0, "c"], 3), "- c: 3\n  a: 1\n  b: 2\n"],
  [
    "an item at the end",
    "a:\n- b: 1 # one\n# the end\n",
    (t) => insert(t, 0, ["a", 1], {b: 2, c: [3]}),
    "a:\n- b: 1 # one\n- b: 2\n  c: [3]\n# the end\n",
  ],
  [
    "an item before another and its comment",
    "a:\n  # one\n  - b: 1\n",
    (t) => insert(t, 0, ["a", 0], {b: 0}),
    "a:\n  - b: 0\n  # one\n  - b: 1\n",
  ],
  ["an item in brackets", "a: [1, 3]\n", (t) => insert(t, 0, ["a", 1], 2), "a: [1, 2, 3]\n"],
  ["the last item in brackets", "a: [1, 3]\n", (t) => insert(t, 0, ["a", 2], 4), "a: [1, 3, 4]\n"],
  ["a text without an end of line", "a:\n- 1", (t) => insert(t, 0, ["a", 1], 2), "a:\n- 1\n- 2"],
  ["Windows' ends of lines", "a:\r\n- 1\r\nb: 2\r\n", (t) => insert(t, 0, ["a", 1], 2), "a:\r\n- 1\r\n- 2\r\nb: 2\r\n"],
  ["a field goes", web, (t) => remove(t, 0, ["spec", "replicas"]), web.replace("  replicas: 3 # three\n", "")],
  ["a field after a dash goes", "- a: 1\n  b: 2\n", (t) => remove(t, 0, [0, "a"]), "- b: 2\n"],
  ["an item goes", "a:\n- b: 1\n  c: 2\n- b: 2\n", (t) => remove(t, 0, ["a", 0]), "a:\n- b: 2\n"],
  ["the last line goes", "a:\n- 1\n- 2", (t) => remove(t, 0, ["a", 1]), "a:\n- 1"],
  ["an item in brackets goes", "a: [1, {b: 2}, 3]\n", (t) => remove(t, 0, ["a", 1]), "a: [1, 3]\n"],
  ["the last item in brackets goes", "a: [1, 2]\n", (t) => remove(t, 0, ["a", 1]), "a: [1]\n"],
  ["the only item goes", "a:\n- b: 1\nc: 2\n", (t) => remove(t, 0, ["a", 0]), "a: []\nc: 2\n"],
  ["a text in quotes", "a: 'x' # y\n", (t) => put(t, 0, ["a"], "it's"), "a: it's # y\n"],
];
for (const [name, text, edit, want] of cases) test(name, () => assert.equal(edit(text), want));

test("what is a template says so", () => {
  assert.match(documents("replicas: {{ .Values.replicas }}\n")[0].problem, /helm template/);
  assert.match(documents("{{- if .Values.on }}\nreplicas: 1\n{{- end }}\n")[0].problem, /helm template/);
  assert.match(documents("a: [1\n")[0].problem, /not valid/);
  assert.equal(documents("a: 'text with {{ braces }}'\n")[0].problem, "");
});

test("an edit that would change more is refused", () => {
  const text = "a: &x {b: 1}\nc: *x\n";
  assert.throws(() => put(text, 0, ["a", "b"], 2), /by hand/);
  assert.deepEqual(plain(documents(text)[0]), {a: {b: 1}, c: {b: 1}});
});

test("what an anchor and its aliases share is told from what stands alone, and is what cannot be edited", () => {
  /** @type {[string, (string | number)[], boolean][]} */
  const cases = [
    ["a: &x {b: 1}\nc: *x\n", ["a", "b"], true],
    ["a: &x {b: 1, d: 2}\nc: *x\n", ["c", "b"], true],
    ["a: &x {b: 1}\nc: *x\n", ["c"], false],
    ["a: &x {b: 1}\nc: {b: 1}\n", ["a", "b"], false],
    ["a: &x {b: 1}\nc: *x\nd: {b: 1}\n", ["d", "b"], false],
    ["a: &x {b: 1}\nc: *x\n", ["d", "b"], false],
    ["a: {k: &x {b: 1}}\nc: *x\n", ["a"], true],
    ["n: &n 3\nm: *n\n", ["n"], true],
    ["n: &n 3\nm: *n\n", ["m"], false],
    ["- &x [1]\n- *x\n- [1]\n", [0, 0], true],
    ["- &x [1]\n- *x\n- [1]\n", [2, 0], false],
  ];
  for (const [text, path, shared] of cases) {
    assert.equal(isShared(documents(text)[0], path), shared, `${text} ${path}`);
    if (shared) assert.throws(() => put(text, 0, path, 7), /by hand/, text);
    else assert.equal(get(plain(documents(put(text, 0, path, 7))[0]), path), 7, text);
  }
});

test("what is nested without end is not parsed", () => {
  for (const text of [
    "[".repeat(900_000),
    "{".repeat(900_000),
    '{"}":'.repeat(100_000),
    "? ".repeat(400_000),
    "a: |\n  [\nb: " + "[".repeat(65),
  ]) {
    assert.match(documents(text)[0].problem, /too deep/);
    assert.equal(plain(documents(text)[0]), null);
    assert.throws(() => put(text, 0, ["a"], 1));
  }
  for (const text of [
    "a: " + "[".repeat(64) + "]".repeat(64),
    "a: [1]\n".repeat(65),
    "a: |\n" + "  [\n".repeat(65),
    'a: "' + "[".repeat(65) + '"',
    "a: why? ".repeat(1) + "[ ? ".repeat(65),
  ]) {
    assert.equal(documents(text)[0].problem, "", text.slice(0, 20));
  }
});

test("many errors take no longer than one each", () => {
  assert.equal(documents("&a ".repeat(20_000))[0].errors[0].linePos, undefined);
});
