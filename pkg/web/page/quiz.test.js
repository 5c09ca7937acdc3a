import assert from "node:assert/strict";
import {test} from "node:test";
import {inWords, judge, keeper} from "./quiz.js";

const spread = {kind: "number", fields: ["a", "b"], answers: [["2", "1"]], equal: [["1", "2"]]};

test("equal nodes make equal answers", () => {
  assert.equal(judge(spread, ["2", "1"]), "right");
  assert.equal(judge(spread, ["1", "2"]), "equal");
  assert.equal(judge(spread, ["3", "0"]), "wrong");
  assert.equal(judge({kind: "nodes", answers: [["n-1", "n-2"]]}, ["n-1"]), "wrong", "half of the nodes");
  assert.equal(judge({kind: "nodes", answers: [[]]}, []), "right", "no node");
  assert.equal(judge({kind: "message", answers: [["x"], ["y"]]}, ["y"]), "right", "any of several messages");
});

test("answers in words", () => {
  assert.equal(inWords(spread, ["2", "1"]), "a 2, b 1");
  assert.equal(inWords({kind: "number"}, ["4"]), "4");
  assert.equal(inWords({kind: "nodes"}, ["n-1", "n-2"]), "n-1 and n-2");
  assert.equal(inWords({kind: "nodes"}, []), "no node");
  assert.equal(inWords({kind: "holds"}, ["yes"]), "yes");
  assert.equal(inWords({kind: "message"}, [""]), "no pod is Pending");
  assert.equal(inWords({kind: "notOn"}, ["Insufficient cpu"]), "Insufficient cpu");
});

function memory(text) {
  const held = new Map(text === undefined ? [] : [["faultline progress", text]]);
  return {getItem: (key) => held.get(key) ?? null, setItem: (key, value) => held.set(key, value)};
}

test("progress is kept, and a skipped step is no mistake", () => {
  const storage = memory();
  const one = keeper(storage);
  one.keep("lessons/1", "first", [
    {ask: "How many?", given: ["1"], outcome: "right"},
    {ask: "Where?", given: ["a"], outcome: "equal"},
  ]);
  one.keep("lessons/1", "second", [{ask: "How many?", given: ["1"], outcome: "wrong"}]);
  one.keep("lessons/1", "third", []);
  const next = keeper(storage);
  assert.deepEqual(next.count("lessons/1"), {steps: 3, asked: 3, right: 2});
  assert.equal(next.of("lessons/1", "first")[1].given[0], "a");
  assert.equal(next.of("lessons/2", "first"), undefined);
  next.forget("lessons/1");
  assert.deepEqual(keeper(storage).count("lessons/1"), {steps: 0, asked: 0, right: 0});
});

test("what something else wrote is no progress, and a full storage no error", () => {
  assert.deepEqual(keeper(memory("{")).count("x"), {steps: 0, asked: 0, right: 0});
  const full = keeper({
    getItem: () => null,
    setItem() {
      throw new Error("full");
    },
  });
  full.keep("x", "step", []);
  assert.equal(full.count("x").steps, 1);
});
