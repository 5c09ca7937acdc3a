import assert from "node:assert/strict";
import {test} from "node:test";
import {inLine} from "./engine.js";

test("a place in the line", () => {
  for (const [place, want] of [
    [1, "1st"],
    [2, "2nd"],
    [3, "3rd"],
    [7, "7th"],
    [11, "11th"],
    [12, "12th"],
    [13, "13th"],
    [21, "21st"],
    [111, "111th"],
  ])
    assert.equal(inLine(place), `${want} in line: the engine answers others first.`);
  assert.equal(inLine(0), "");
});
