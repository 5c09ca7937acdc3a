import assert from "node:assert/strict";
import test from "node:test";
import {NOWHERE, judge, questions, score} from "./predict.js";

// Three nodes. web-1 finds them equal; web-2 prefers b, by a soft rule that counts web-1; web-3 is refused everywhere.
// cache is of another workload that is listed first, and counts web-1: it came after it.
const fit = (weighted) => ({plugin: "NodeResourcesFit", raw: weighted, normalised: weighted, weight: 1, weighted});
const affinity = (weighted, score, domain, pods = []) => ({
  plugin: "InterPodAffinity",
  raw: score,
  normalised: weighted / 2,
  weight: 2,
  weighted,
  parts: [
    {
      rule: "its own preferred anti-affinity [0]",
      topologyKey: "zone",
      domain,
      weight: -100,
      count: pods.length,
      pods,
      score,
    },
  ],
});
const candidate = (node, rank, ...scores) => ({
  node,
  rank,
  total: scores.reduce((sum, {weighted}) => sum + weighted, 0),
  scores,
});
const pod = (name, node, cycle, status = "Running") => ({
  namespace: "default",
  name,
  workload: "deployment/" + name.split("-")[0],
  node,
  status,
  cycle,
});
const taint = {plugin: "TaintToleration", message: "node(s) had untolerated taint(s)", count: 1, nodes: ["c"]};
const report = {
  steps: [
    {name: "before", pods: [pod("db-1", "a"), pod("old-1", "b"), pod("old-2", "b")]},
    {
      name: "web",
      pods: [
        pod("db-1", "a"),
        pod("cache-1", "b", {
          searched: 3,
          scored: 2,
          candidates: [
            candidate("b", 1, affinity(200, 0, "b")),
            candidate("a", 2, affinity(0, -100, "a", ["default/web-1", "default/old-1"])),
          ],
        }),
        pod(
          "web-3",
          undefined,
          {
            searched: 3,
            scored: 0,
            refusals: [
              {
                plugin: "InterPodAffinity",
                message: "node(s) didn't match pod anti-affinity rules",
                count: 2,
                nodes: ["a", "b"],
              },
              taint,
            ],
          },
          "Pending",
        ),
        pod("web-1", "a", {
          searched: 3,
          scored: 2,
          candidates: [candidate("a", 1, fit(99)), candidate("b", 1, fit(99))],
          refusals: [taint],
        }),
        pod("web-2", "b", {
          searched: 3,
          scored: 2,
          candidates: [
            candidate("b", 1, fit(90), affinity(200, 0, "b")),
            candidate("a", 2, fit(98), affinity(100, -100, "a", ["default/web-1"])),
          ],
          refusals: [taint],
        }),
        pod("web-4", "c", {
          searched: 3,
          scored: 0,
          candidates: [{node: "c", total: 0}],
          refusals: [{...taint, nodes: ["a", "b"], count: 2}],
        }),
      ],
    },
  ],
};
const all = questions(report, "web");

test("pods come in the order in which they were placed", () => {
  assert.deepEqual(
    all.map(({pod}) => pod.name),
    ["web-1", "cache-1", "web-2", "web-4", "web-3"],
  );
  assert.deepEqual(questions(report, "before"), []);
  assert.deepEqual(questions(report, "no such step"), []);
});

test("the cluster is as it was before each of them", () => {
  assert.deepEqual(
    all.map(({pods}) => pods.map(({name}) => name)),
    [
      ["db-1", "old-1"],
      ["db-1", "old-1", "web-1"],
      ["db-1", "web-1", "cache-1"],
      ["db-1", "web-1", "cache-1", "web-2"],
      ["db-1", "web-1", "cache-1", "web-2", "web-4"],
    ],
  );
  assert.deepEqual(
    all.map(({leaving}) => leaving.map(({name}) => name).join()),
    ["old-2", "old-2", "old-1,old-2", "old-1,old-2", "old-1,old-2"],
  );
});

const ask = (name, choice) =>
  judge(
    all.find(({pod}) => pod.name === name),
    choice,
  );

test("a choice is right, as good, or wrong, and by how much", () => {
  const outcomes = [
    ["web-1", "a"],
    ["web-1", "b"],
    ["web-1", "c"],
    ["web-2", "b"],
    ["web-2", "a"],
    ["web-2", NOWHERE],
    ["web-3", NOWHERE],
    ["web-3", "c"],
    ["web-4", "c"],
    ["web-4", NOWHERE],
  ].map(([name, choice]) => {
    const {outcome, behind, words} = ask(name, choice);
    return [name, choice, outcome, behind, words];
  });
  assert.deepEqual(outcomes, [
    ["web-1", "a", "right", 0, "2 nodes have the top score, and this one was taken"],
    ["web-1", "b", "tie", 0, "As good: b and a have the same score, and the first of them won"],
    ["web-1", "c", "wrong", 0, "c does not take it: node(s) had untolerated taint(s)"],
    ["web-2", "b", "right", 0, "It is ahead of a by 92 points"],
    ["web-2", "a", "wrong", 92, "b is ahead by 92 points"],
    ["web-2", "", "wrong", 0, "2 nodes take it, and b is the best"],
    [
      "web-3",
      "",
      "right",
      0,
      "No node takes it: 2 node(s) didn't match pod anti-affinity rules, 1 node(s) had untolerated taint(s)",
    ],
    ["web-3", "c", "wrong", 0, "No node takes it. c: node(s) had untolerated taint(s)"],
    ["web-4", "c", "right", 0, "It is the only node that takes the pod"],
    ["web-4", "", "wrong", 0, "1 node takes it, and c is the best"],
  ]);
});

test("what decided is the plugins and rules that tell the nodes apart", () => {
  assert.deepEqual(ask("web-2", "a").decided, [
    {
      plugin: "InterPodAffinity",
      points: 100,
      parts: [
        {rule: "its own preferred anti-affinity [0]", topologyKey: "zone", domain: "b", otherDomain: "a", raw: 100},
      ],
    },
    {plugin: "NodeResourcesFit", points: -8, parts: []},
  ]);
  assert.deepEqual(ask("web-2", "c").decided, [
    {plugin: "TaintToleration", message: "node(s) had untolerated taint(s)"},
  ]);
  assert.deepEqual(ask("web-1", "a").decided, []);
});

test("the session's score", () => {
  assert.deepEqual(score([ask("web-1", "b"), ask("web-2", "a"), ask("web-3", NOWHERE)]), {
    asked: 3,
    right: 1,
    ties: 1,
    wrong: 1,
    behind: 92,
    share: 2 / 3,
    words: "1 of 3 right, 1 as good, 1 wrong",
  });
  assert.equal(score([]).words, "nothing predicted yet");
});

test("a pod that is not tried, or on which a plugin failed, is not refused by the nodes", () => {
  const of = (more) => ({
    pod: {...pod("web-1", undefined, {searched: 0, scored: 0}, "Pending"), ...more},
    node: NOWHERE,
    candidates: [],
    refused: [],
  });
  const why = (question, choice) => judge(question, choice).words;
  assert.equal(
    why(of({untried: "its gang is incomplete"}), NOWHERE),
    "Not tried: its gang is incomplete (no event and no condition says so)",
  );
  assert.equal(
    why(of({untried: "its gang is incomplete"}), "a"),
    "Not tried: its gang is incomplete (no event and no condition says so)",
  );
  assert.equal(
    why(of({message: "no such key", reason: "SchedulerError"}), NOWHERE),
    "no such key; SchedulerError: a plugin failed, and the scheduler tries the pod again and again",
  );
  assert.equal(why(of({message: "unbound claims"}), NOWHERE), "No node takes it: unbound claims");
});
