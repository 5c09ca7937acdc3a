import assert from "node:assert/strict";
import {test} from "node:test";
import {history} from "./history.js";

const of = (text) => ({main: "a.yaml", files: {"a.yaml": text}});
const textOf = (input) => input.files["a.yaml"];

test("changes are undone one by one, done again, and taken back together", () => {
  const past = history(of("0"));
  assert.ok(!past.can("undo") && !past.can("redo") && !past.can("reset"));
  past.add(of("1"));
  past.add(of("2"));
  assert.equal(textOf(past.undo()), "1");
  assert.equal(textOf(past.undo()), "0");
  assert.ok(!past.can("undo") && past.can("redo") && !past.can("reset"));
  assert.equal(textOf(past.redo()), "1");
  past.add(of("3"));
  assert.ok(!past.can("redo"), "what was undone is gone with another change");
  assert.equal(textOf(past.reset()), "0");
  assert.ok(!past.can("reset"));
  assert.equal(textOf(past.undo()), "3");
});

test("what is typed in one go is one change", () => {
  let at = 0;
  const past = history(of(""), () => at);
  for (const text of ["r", "re", "rep"]) {
    past.add(of(text), true);
    at += 300;
  }
  at += 2000;
  past.add(of("repl"), true);
  past.add(of("lever"));
  past.add(of("lever!"), true);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => textOf(past.undo())),
    ["lever", "repl", "rep", ""],
  );
});
