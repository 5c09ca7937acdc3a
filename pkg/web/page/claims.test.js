import assert from "node:assert/strict";
import {test} from "node:test";
import {follow, leversChanged, voidClaims} from "./claims.js";
import {write} from "./levers.js";
import {shipped} from "./shipped.js";

const {input} = shipped().find(({name}) => name === "lessons/2-soft-or-hard");
const lever = (what) => `${what} default/deployment/web`;

test("a lever that was pulled, and the words that name it", () => {
  const changed = write(write(input, "hard", lever("rule"), "soft"), "hard", lever("replicas"), 5);
  const changes = leversChanged(input, changed, "hard");
  assert.deepEqual(
    changes.filter(({label}) => label !== "Weight"),
    [
      {of: "deployment/web", label: "Replicas", from: 3, to: 5},
      {of: "deployment/web", label: "Rule", from: "hard", to: "soft"},
    ],
  );
  assert.deepEqual(follow("hard", changes), {from: "hard", to: "soft"});
  assert.deepEqual(follow("replicas: 3", changes), {from: "replicas: 3", to: "replicas: 5"});
  assert.equal(
    follow("requiredDuringSchedulingIgnoredDuringExecution", changes).to,
    "preferredDuringSchedulingIgnoredDuringExecution",
  );
  assert.equal(follow("harder", changes), undefined);
  assert.deepEqual(leversChanged(input, input, "hard"), []);
});

test("a claim of the lesson is void, a claim of the reader is not met", () => {
  const report = () => ({
    steps: [
      {
        name: "hard",
        expectations: [
          {want: "0 pods Pending", met: false},
          {want: "at most 1 in each", met: true},
        ],
      },
      {name: "soft", expectations: [{want: "7 pods Pending", met: false}]},
    ],
  });
  const found = report();
  const other = input.files[input.main].replace(/(- name: soft\n[^]*?)pending: 0/, "$1pending: 7");
  voidClaims(found, input, {...input, files: {[input.main]: other}});
  assert.deepEqual(
    found.steps.map(({expectations}) => expectations.map(({changed}) => Boolean(changed))),
    [[true, false], [false]],
  );
});
