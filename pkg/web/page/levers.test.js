import assert from "node:assert/strict";
import test from "node:test";
import {read, write} from "./levers.js";
import {stepAt, scenarioOf} from "./sources.js";
import {shipped} from "./shipped.js";

const KEYS = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "rack"];
const NODES = [
  {name: "a-worker-1", topology: Object.fromEntries(KEYS.map((key) => [key, "a"]))},
  {name: "spare-worker-1", topology: {}},
];

// others are the values that a lever is tried with.
const others = (lever) =>
  ({
    number: [lever.value + 1, lever.value - 1, lever.max].filter(
      (n) => n >= lever.min && n <= lever.max && n !== lever.value && n < 300,
    ),
    choice: lever.options?.filter((option) => option !== lever.value && option !== "several"),
    toggle: [!lever.value],
  })[lever.kind];

// changedLines counts the lines that are in one text alone.
function changedLines(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let head = 0,
    tail = 0;
  while (head < Math.min(a.length, b.length) && a[head] === b[head]) head++;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return [a.length - head - tail, b.length - head - tail];
}

const comments = (text) => text.match(/^\s*#.*$/gm) ?? [];

for (const {name, input} of shipped()) {
  test(`every lever of ${name} says what was written`, () => {
    const {scenario} = scenarioOf(input);
    for (const step of ["workloads", ...(scenario.steps ?? []).map((one) => one.name)]) {
      for (const lever of read(input, step, NODES).levers) {
        for (const value of others(lever)) {
          const where = `${step}: ${lever.id} = ${value}`;
          const after = write(input, step, lever.id, value, NODES);
          assert.equal(read(after, step, NODES).levers.find((one) => one.id === lever.id)?.value, value, where);
          const changed = Object.keys(input.files).filter((file) => input.files[file] !== after.files[file]);
          assert.equal(changed.length, 1, where);
          assert.deepEqual(comments(after.files[changed[0]]), comments(input.files[changed[0]]), where);
          if (/^(key|weight|wish)/.test(lever.id))
            assert.deepEqual(changedLines(input.files[changed[0]], after.files[changed[0]]), [1, 1], where);
          if (lever.id.startsWith("rule") || (lever.kind === "number" && value > lever.value * 2)) continue;
          // The nodes here lack the keys that only this scenario's have, so that there is no way back to one.
          if (lever.id.startsWith("key") && !Object.keys(NODES[0].topology).includes(lever.value)) continue;
          const back = write(after, step, lever.id, lever.value, NODES);
          assert.equal(read(back, step, NODES).levers.find((one) => one.id === lever.id)?.value, lever.value, where);
        }
      }
    }
  });
}

const scenario = (steps, more = "") => `apiVersion: faultline/v1alpha1
kind: Scenario
cluster:
- synthetic: {zones: [{name: a}, {name: b}], nodeGroups: [{name: worker, count: 2, cpu: 8}, {name: infra, count: 1}]}
${more}steps:
${steps}`;

const web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      affinity:
        podAntiAffinity:
          # What this rule is for.
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: rack, labelSelector: {matchLabels: {app: cache}}}
          - topologyKey: topology.kubernetes.io/zone
            labelSelector: {matchExpressions: [{key: tier, operator: Exists}]}
      containers: [{name: web, image: web}]
`;
const one = (text, files = {}) => ({main: "scenario.yaml", files: {"scenario.yaml": text, "web.yaml": web, ...files}});
const values = (input, step, nodes) =>
  Object.fromEntries(read(input, step, nodes).levers.map((lever) => [lever.id, lever.value]));
const webs = one(
  scenario(
    "- {name: web, apply: {files: [web.yaml]}}\n- {name: more, scale: {target: deploy/web, replicas: 5}}\n" +
      "- name: surge\n" +
      "  patch: {target: deployment/web, patch: {spec: {strategy: {rollingUpdate: {maxSurge: 1}}}}}\n",
  ),
);

test("a rule takes the place of those about the workload's own pods, and of no other", () => {
  const spread = write(webs, "web", "rule default/deployment/web", "spread").files["web.yaml"];
  assert.equal(
    spread,
    web.replace(/ {10}- topologyKey: topology.*\n.*\n/, "").replace(
      "    spec:\n",
      `    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
`,
    ),
  );
  const soft = write(webs, "web", "rule default/deployment/web", "soft");
  assert.match(
    soft.files["web.yaml"],
    new RegExp(
      "preferredDuring.*\n +- weight: 100\n +podAffinityTerm:\n +topologyKey: topology.kubernetes.io/zone\n" +
        " +labelSelector: {matchLabels: {app: web}}\n",
    ),
  );
  assert.deepEqual(values(soft, "web")["weight default/deployment/web"], 100);
  const none = one(webs.files["scenario.yaml"], {"web.yaml": web.replace(/ +- \{topologyKey: rack.*\n/, "")});
  assert.doesNotMatch(write(none, "web", "rule default/deployment/web", "none").files["web.yaml"], /ffinity|\{\}|\[\]/);
  assert.match(
    write(write(none, "web", "rule default/deployment/web", "none"), "web", "rule default/deployment/web", "hard")
      .files["web.yaml"],
    /podAntiAffinity:\n +requiredDuring\w+:\n +- topologyKey: kubernetes.io\/hostname\n/,
  );
});

test("what a later step sets is changed there", () => {
  assert.equal(values(webs, "web")["replicas default/deployment/web"], 3);
  assert.equal(values(webs, "more")["replicas default/deployment/web"], 5);
  assert.match(write(webs, "more", "replicas default/deployment/web", 6).files["scenario.yaml"], /replicas: 6/);
  assert.match(write(webs, "surge", "maxSurge default/deployment/web", "50%").files["scenario.yaml"], /maxSurge: 50%/);
  assert.match(
    write(webs, "more", "maxSurge default/deployment/web", 2).files["web.yaml"],
    /strategy: \{rollingUpdate: \{maxSurge: 2\}\}/,
  );
  const json = one(
    scenario(
      "- {name: web, apply: {files: [web.yaml]}}\n" +
        "- {name: p, patch: {target: deploy/web, type: json, patch: [{op: replace, path: /spec/replicas, " +
        "value: 7}]}}\n",
    ),
  );
  assert.equal(values(json, "p")["replicas default/deployment/web"], 7);
  const rules = one(
    scenario(
      "- {name: web, apply: {files: [web.yaml]}}\n" +
        "- {name: p, patch: {target: deploy/web, patch: {spec: {template: {spec: {affinity: null}}}}}}\n",
    ),
  );
  assert.deepEqual(
    read(rules, "p").without.find(({of}) => of === "rule of deployment/web")?.reason,
    "step p changes it: change it there",
  );
});

test("a patch that would not fit another rule keeps the rule, and no patch of another object does", () => {
  const patch = "- {name: p, patch: {target: deploy/web, patch: {spec: {template: {spec: {affinity: null}}}}}}\n";
  const rule = (again) =>
    read(
      one(
        scenario(
          `- {name: a, apply: {files: [web.yaml]}}\n- {name: b, fresh: true, apply: {files: [${again}]}}\n` + patch,
        ),
        {"other.yaml": web},
      ),
      "a",
    ).levers.some(({id}) => id.startsWith("rule"));
  assert.deepEqual([rule("web.yaml"), rule("other.yaml")], [false, true]);
});

test("workloads of folders, globs, Lists and objects are found, and what is gone is not", () => {
  const list =
    "apiVersion: v1\nkind: List\nitems:\n" + web.replace(/^/gm, "  ").replace("  api", "- api").trimEnd() + "\n";
  const input = one(
    scenario(
      "- {name: a, apply: {files: [apps]}}\n- {name: b, fresh: true, apply: {files: ['more/*.yml', web.yaml]}}\n" +
        "- name: c\n  apply:\n    objects:\n" +
        "    - {apiVersion: v1, kind: ReplicationController, metadata: {name: rc}, spec: {template: " +
        "{metadata: {labels: {a: b}}, spec: {containers: []}}}}\n" +
        "- {name: d, delete: {targets: [deploy/web]}}\n",
    ),
    {
      "apps/deep/list.yaml": list,
      "apps/.hidden/x.yaml": web.replace("name: web", "name: hidden"),
      "more/x.yml": "---\n# nothing\n---\n" + web.replace("name: web", "name: more"),
    },
  );
  const names = (step) =>
    read(input, step)
      .levers.filter(({id}) => id.startsWith("replicas"))
      .map(({of}) => of.workload);
  assert.deepEqual(["a", "b", "c", "d"].map(names), [
    ["deployment/web"],
    ["deployment/more", "deployment/web"],
    ["deployment/more", "deployment/web", "replicationcontroller/rc"],
    ["deployment/more", "replicationcontroller/rc"],
  ]);
  assert.match(
    write(input, "a", "replicas default/deployment/web", 9).files["apps/deep/list.yaml"],
    /^    replicas: 9$/m,
  );
  assert.match(
    write(input, "c", "rule default/replicationcontroller/rc", "hard").files["scenario.yaml"],
    /labelSelector: \{matchLabels: \{a: b\}\}/,
  );
});

test("what cannot be written has a reason", () => {
  const reason = (text) =>
    read(one(scenario("- {name: a, apply: {files: [x.yaml]}}\n"), {"x.yaml": text}), "a").without.find(
      ({of}) => of === "x.yaml",
    )?.reason;
  assert.match(reason("replicas: {{ .Values.n }}\n"), /template/);
  assert.match(reason('{"kind": "List"}'), /JSON/);
  const anchored = one(scenario("- {name: a, apply: {files: [x.yaml]}}\n"), {
    "x.yaml": web.replace("{app: web}", "&own {app: web}").replace("{app: web, tier: front}", "*own"),
  });
  assert.equal(
    values(write(anchored, "a", "replicas default/deployment/web", 1), "a")["replicas default/deployment/web"],
    1,
  );
  const spec = one(scenario("- {name: a, apply: {files: [x.yaml]}}\n"), {
    "x.yaml":
      "items:\n" +
      "- &web {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, " +
      "selector: {}}}\n- *web\nkind: List\n",
  });
  assert.match(read(spec, "a").without[0].reason, /Replicas stands in an anchor of x.yaml/);
  assert.match(read({main: "s.yaml", files: {"s.yaml": "a: ["}}, "x").without[0].reason, /not valid/);
});

test("zones get numbers of nodes of their own", () => {
  const input = one(scenario("- {name: a}\n"));
  const labels = read(input, "a").levers.map(({label, value}) => `${label}: ${value}`);
  assert.deepEqual(labels, [
    "worker nodes in each zone: 2",
    "infra nodes in each zone: 1",
    "worker nodes in zone a: 2",
    "infra nodes in zone a: 1",
    "worker nodes in zone b: 2",
    "infra nodes in zone b: 1",
  ]);
  const after = write(input, "a", "nodes.cluster.0.synthetic.zones.1.0", 5);
  assert.match(
    after.files["scenario.yaml"],
    /zones: \[{name: a}, {nodeGroups: \[{name: worker, count: 5, cpu: 8}, {name: infra, count: 1}\], name: b}\]/,
  );
  assert.equal(
    values(write(after, "a", "nodes.cluster.0.synthetic.0", 3), "a")["nodes.cluster.0.synthetic.zones.1.0"],
    5,
  );
});

test("a cordon is a step before, and none when it is taken off", () => {
  const nodes = [{name: "a-worker-1", topology: {"topology.kubernetes.io/zone": "a"}}];
  const text = scenario(
    "- name: web\n  apply: {files: [web.yaml]}\n# The second.\n- name: again\n  apply: {files: [web.yaml]}\n",
  );
  const on = write(one(text), "again", "cordon a-worker-1", true, nodes);
  assert.equal(
    on.files["scenario.yaml"],
    text.replace("# The second.", "- name: cordon-a-worker-1\n  cordon: {names: [a-worker-1]}\n# The second."),
  );
  assert.equal(stepAt(scenarioOf(on).scenario, "again"), 2);
  assert.equal(write(on, "again", "cordon a-worker-1", false, nodes).files["scenario.yaml"], text);
  const zone = one(
    text.replace("- name: web\n", "- {name: zone, cordon: {selector: topology.kubernetes.io/zone=a}}\n- name: web\n"),
  );
  assert.match(read(zone, "web", nodes).without[0].reason, /step zone cordons it/);
  const two = one(text.replace("- name: web\n", "- {name: two, cordon: {names: [a-worker-1, b]}}\n- name: web\n"));
  assert.match(write(two, "web", "cordon a-worker-1", false, nodes).files["scenario.yaml"], /names: \[b\]/);
  assert.equal(values(two, "web", nodes)["cordon a-worker-1"], true);
});

test("nodes that fail do not answer, unless the scenario says otherwise", () => {
  const input = one(scenario("- {name: a, apply: {files: [web.yaml]}}\n"), {"web.yaml": web});
  const mode = (of) => read(of, "a").levers.find(({id}) => id === "failure mode").value;
  const deleted = write(input, "a", "failure mode", "deleted");
  assert.deepEqual([mode(input), mode(deleted)], ["unreachable", "deleted"]);
  assert.match(deleted.files["scenario.yaml"], /^failures:\s+\{?mode: deleted/m);
});

test("a value that is not possible is refused, and the same value changes nothing", () => {
  assert.throws(() => write(webs, "web", "replicas default/deployment/web", -1), /Replicas: -1 is not possible/);
  assert.throws(() => write(webs, "web", "rule default/deployment/web", "often"), /not possible/);
  assert.throws(() => write(webs, "web", "replicas default/deployment/other", 1), /there is no lever/);
  assert.equal(write(webs, "web", "replicas default/deployment/web", 3), webs);
});

test("a rule against the pods of another workload is named at both", () => {
  const deployment = (name, affinity) =>
    `{apiVersion: apps/v1, kind: Deployment, metadata: {name: ${name}}, spec: {selector: {matchLabels: {app: ${name}}}, ` +
    `template: {metadata: {labels: {app: ${name}}}, spec: {${affinity} containers: [{name: c, image: c}]}}}}`;
  const term = "labelSelector: {matchLabels: {app: db}}, topologyKey: kubernetes.io/hostname";
  const hard = `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{${term}}]}},`;
  const soft = `affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {${term}}}]}},`;
  const text =
    "apiVersion: faultline/v1alpha1\nkind: Scenario\nsteps:\n- name: one\n  apply:\n    objects:\n" +
    [deployment("web", hard), deployment("batch", soft), deployment("db", "")].map((one) => `    - ${one}\n`).join("");
  const found = read({main: "s.yaml", files: {"s.yaml": text}}, "one", NODES).levers.filter(
    ({label}) => label === "Rule",
  );
  assert.deepEqual(
    found.map(({of, value, note}) => [of.workload, value, note]),
    [
      ["deployment/web", "none", "besides, its hard rule against deployment/db"],
      ["deployment/batch", "none", "besides, its soft rule against deployment/db"],
      ["deployment/db", "none", "besides, the hard rule of deployment/web and the soft rule of deployment/batch"],
    ],
  );
});
