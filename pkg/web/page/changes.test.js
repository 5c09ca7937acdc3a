import assert from "node:assert/strict";
import test from "node:test";
import {changesSince} from "./changes.js";

const pod = (name, node, more) => ({
  namespace: "default",
  name,
  workload: "deployment/" + name.split("-")[0],
  status: node ? "Running" : "Pending",
  node,
  ...more,
});
const report = (...pods) => ({
  steps: [
    {name: "other", pods: []},
    {name: "web", pods},
  ],
});

test("what moved, and what waits", () => {
  const before = report(
    pod("web-1", "a"),
    pod("web-2", "a"),
    pod("web-3", "b"),
    pod("db-1", undefined, {message: "no room"}),
    pod("cache-1", "c"),
  );
  const after = report(
    pod("web-1", "a"),
    pod("web-x", "b"),
    pod("web-3", "b"),
    pod("web-4", undefined, {message: "didn't match"}),
    pod("db-1", "a"),
    pod("cache-y", "c"),
  );
  const found = changesSince(before, after, "web");
  assert.deepEqual(found.changes, [
    {key: "default/deployment/web", on: [["b", 1]], off: [["a", 1]], moved: 1, added: 0, gone: 0, pending: 1},
    {key: "default/deployment/db", on: [["a", 1]], off: [], moved: 0, added: 1, gone: 0, pending: -1},
  ]);
  assert.deepEqual(found.words, ["1 newly Pending", "1 fewer Pending", "1 moved", "1 more placed"]);
  assert.deepEqual([...found.placed], ["default/web-x", "default/db-1"]);
  assert.deepEqual(found.newlyPending, [{key: "default/deployment/web", count: 1, message: "didn't match"}]);
  assert.deepEqual(found.noLongerPending, [{key: "default/deployment/db", count: 1, message: "no room"}]);
});

test("nothing changed, and nothing to compare with", () => {
  const same = changesSince(
    report(pod("web-1", "a")),
    report(pod("web-2", "a"), pod("web-1", "b", {status: "Terminating"})),
    "web",
  );
  assert.deepEqual([same.changes, same.words, [...same.placed]], [[], [], []]);
  assert.equal(changesSince(undefined, report(), "web"), undefined);
  assert.equal(changesSince(report(), report(), "gone"), undefined);
});
