import assert from "node:assert/strict";
import test from "node:test";
import {filesOf, setter, stepAt, targetOf} from "./sources.js";

const input = (main, ...files) => ({main, files: Object.fromEntries([main, ...files].map((file) => [file, ""]))});

test("names stand for files, folders and globs, as for the loader", () => {
  const here = input(
    "scenario.yaml",
    "web.yaml",
    "apps/b.yml",
    "apps/a.yaml",
    "apps/a/z.json",
    "apps/.git/x.yaml",
    "apps/note.txt",
    "../nodes.yaml",
    "web2.yaml",
  );
  for (const [name, want] of /** @type {[any, string[]][]} */ ([
    ["web.yaml", ["web.yaml"]],
    ["./web.yaml", ["web.yaml"]],
    ["../nodes.yaml", ["../nodes.yaml"]],
    ["apps/../web.yaml", ["web.yaml"]],
    ["apps", ["apps/a/z.json", "apps/a.yaml", "apps/b.yml"]],
    ["apps/", ["apps/a/z.json", "apps/a.yaml", "apps/b.yml"]],
    ["apps/*.yaml", ["apps/a.yaml"]],
    ["*/*.y*ml", ["apps/a.yaml", "apps/b.yml"]],
    ["web?.yaml", ["web2.yaml"]],
    ["web[0-9].yaml", ["web2.yaml"]],
    ["web[^2].yaml", []],
    ["*.yaml", ["scenario.yaml", "web.yaml", "web2.yaml"]],
    ["no.yaml", []],
    ["/etc/passwd", []],
    [3, []],
    ["web(.yaml", []],
  ]))
    assert.deepEqual(filesOf(here, name), want, String(name));
  assert.deepEqual(filesOf(input("a/scenario.yaml", "a/web.yaml", "web.yaml"), "web.yaml"), ["a/web.yaml"]);
  assert.deepEqual(filesOf(input("a/scenario.yaml", "web.yaml"), "../*.yaml"), ["web.yaml"]);
});

test("no pattern takes long", () => {
  assert.deepEqual(filesOf(input("s.yaml", "a".repeat(300) + "b"), "*a".repeat(100)), []);
});

test("steps and targets are found by name", () => {
  const scenario = {steps: [{name: "a"}, null, {name: "b"}]};
  assert.deepEqual(
    ["a", "b", "workloads", undefined, "gone"].map((step) => stepAt(scenario, step)),
    [0, 2, -1, 2, 2],
  );
  assert.deepEqual(["deploy/web", "StatefulSets/db", "rc/x", "node/a", "web", undefined].map(targetOf), [
    "Deployment/web",
    "StatefulSet/db",
    "ReplicationController/x",
    undefined,
    undefined,
    undefined,
  ]);
});

test("the last that sets a field is found", () => {
  const later = (...patches) => ({
    file: "web.yaml",
    n: 0,
    path: [],
    object: {spec: {replicas: 3}},
    later: patches.map((one) => ({file: "s.yaml", n: 0, path: ["p"], by: "step x", ...one})),
  });
  const replicas = (...patches) => {
    const {file, path, value, reason} = setter(later(...patches), ["spec", "replicas"]);
    return reason ?? [file, path.join("."), value];
  };
  assert.deepEqual(replicas(), ["web.yaml", "spec.replicas", 3]);
  assert.deepEqual(replicas({kind: "merge", value: {spec: {replicas: 0}}}), ["s.yaml", "p.spec.replicas", 0]);
  assert.deepEqual(
    replicas({kind: "scale", value: {replicas: 0}}, {kind: "strategic", value: {spec: {paused: true}}}),
    ["s.yaml", "p.replicas", 0],
  );
  assert.deepEqual(
    replicas({
      kind: "json",
      value: [
        {op: "test", path: "/metadata"},
        {op: "replace", path: "/spec/replicas", value: 7},
      ],
    }),
    ["s.yaml", "p.1.value", 7],
  );
  assert.equal(replicas({kind: "merge", value: {spec: null}}), "step x changes it: change it there");
  assert.equal(
    replicas({kind: "json", value: [{op: "remove", path: "/spec/replicas"}]}),
    "step x changes it: change it there",
  );
});
