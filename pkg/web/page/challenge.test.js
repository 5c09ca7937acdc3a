import assert from "node:assert";
import test from "node:test";
import {linesBetween} from "./challenge.js";

test("the lines that differ stand between those that do not", () => {
  for (const {a, b, want} of [
    {a: "a\nb\nc", b: "a\nb\nc", want: {gone: [], come: []}},
    {a: "a\nb\nc", b: "a\nx\ny\nc", want: {gone: ["b"], come: ["x", "y"]}},
    {a: "a\na", b: "a\na\na", want: {gone: [], come: ["a"]}},
    {a: "a", b: "", want: {gone: ["a"], come: [""]}},
  ])
    assert.deepStrictEqual(linesBetween(a, b), want);
});
