import assert from "node:assert/strict";
import test from "node:test";
import {causesOf, mustWait, sameWait, waitsOf} from "./waits.js";

const noNode = "0/1 nodes are available: 1 Insufficient cpu.";

test("a pod's lines are those of the text report", () => {
  for (const [pod, want] of /** @type {[object, string[]][]} */ ([
    [{}, ["kube-scheduler gave no message"]],
    [{message: noNode}, [noNode]],
    [{untried: "its gang is incomplete"}, ["Not tried: its gang is incomplete (no event and no condition says so)"]],
    [{untried: 'left to the scheduler "other"'}, ['Left to the scheduler "other"']],
    [
      {message: noNode, untried: "a claim is missing"},
      [noNode, "Not tried: a claim is missing (no event and no condition says so)"],
    ],
    [
      {message: "running Filter: no such key", reason: "SchedulerError"},
      [
        "running Filter: no such key",
        "SchedulerError: a plugin failed, and the scheduler tries the pod again and again",
      ],
    ],
    [
      {node: "b", waits: "waits for its volume, attached to a", message: "Multi-Attach error"},
      ["Waits for its volume, attached to a", "FailedAttachVolume Multi-Attach error"],
    ],
    [{node: "b", waits: "waits for its volume, attached to a"}, ["Waits for its volume, attached to a"]],
    // After a failure.
    [{node: "b", message: "waits for its volume, attached to a"}, ["Waits for its volume, attached to a"]],
    [
      {message: "Scheduling is blocked due to non-empty scheduling gates", gates: ["example.com/quota", "b"]},
      ["Scheduling is blocked due to non-empty scheduling gates", "Gates: example.com/quota, b"],
    ],
  ]))
    assert.deepEqual(waitsOf(pod), want);
});

test("pods without a node wait, and those that wait for their volume", () => {
  assert.deepEqual([{}, {node: "a"}, {node: "a", waits: "waits for its volume, attached to b"}].map(mustWait), [
    true,
    false,
    true,
  ]);
});

test("pods of different reasons wait for different things", () => {
  assert.notEqual(sameWait({untried: "a claim is missing"}), sameWait({untried: "its gang is incomplete"}));
  assert.equal(sameWait({name: "a", message: noNode}), sameWait({name: "b", message: noNode}));
});

test("each kind of refusal says why", () => {
  const refused = (nodes, sentence) => ({plugin: "NodeResourcesFit", nodes, sentence});
  assert.deepEqual(causesOf({causes: [refused(1, "asks 3 cpu"), refused(2, "asks 9Gi memory")]}), [
    "NodeResourcesFit refuses 1 node: asks 3 cpu",
    "NodeResourcesFit refuses 2 nodes: asks 9Gi memory",
  ]);
  assert.deepEqual(causesOf({causes: [{plugin: "Quota", sentence: "8 of 8 cpu are used"}]}), [
    "Quota: 8 of 8 cpu are used",
  ]);
  assert.deepEqual(causesOf({}), []);
});
