// The builder: a form that makes a lesson. Each field is read from the scenario's text and writes it, as a lever does.
//
//   OWN is the example that a lesson of one's own begins as
//   drawBuilder({changed, tryIt, link}) draws the form of the step in view
//       changed is called with the input that a field wrote, and with a step to show; tryIt asks the questions as a class
//       sees them; link is the address of the lesson for a class
//   withQuestions(input) → whether steps of it ask something, so that it opens as a lesson

import {domainOf, nodesOf} from "#shared/data.js";
import {fill, h, keepingFocus} from "#shared/dom.js";
import {inLanguage} from "#shared/language.js";
import {view} from "#shared/view.js";
import {HOSTNAME, noun} from "#shared/words.js";
import {element, inline} from "./lesson.js";
import {read, write} from "./levers.js";
import {listOf, scenarioOf, stepAt, workloadsAt} from "./sources.js";
import {state} from "./state.js";
import {control} from "./strip.js";
import {get, insert, put, remove} from "./yamltext.js";

export const OWN = "own-lesson";

const ZONE = "topology.kubernetes.io/zone";
const REASONS = [
  "node(s) didn't match pod anti-affinity rules",
  "node(s) didn't satisfy existing pods anti-affinity rules",
  "node(s) didn't match pod affinity rules",
];

export const withQuestions = (input) =>
  listOf(scenarioOf(input).scenario.steps).some((step) => listOf(step?.questions).length > 0);

// actions are what can happen in a step, as fields of the scenario; made is what a chosen one begins as.
const actions = {
  apply: {words: "A Deployment is applied", made: ({fresh}) => ({objects: [deployment(fresh)]})},
  scale: {words: "A Deployment is scaled", made: ({workload}) => ({target: workload, replicas: 4})},
  rollout: {words: "A Deployment is restarted", made: ({workload}) => ({target: workload, restart: true})},
  fail: {words: "Nodes fail", made: ({places}) => ({selector: places[0]})},
  restore: {words: "Failed nodes are back", made: ({places}) => ({selector: places[0]})},
  cordon: {words: "Nodes are cordoned", made: ({places}) => ({selector: places[0]})},
  uncordon: {words: "Cordoned nodes take pods again", made: ({places}) => ({selector: places[0]})},
};

const deployment = (name) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {name},
  spec: {
    replicas: 3,
    selector: {matchLabels: {app: name}},
    template: {
      metadata: {labels: {app: name}},
      spec: {containers: [{name, image: "registry.k8s.io/pause:3.2", resources: {requests: {cpu: "500m"}}}]},
    },
  },
});

// kinds are the kinds of a question; made is what a chosen one begins as.
const kinds = {
  number: {words: "How many pods", made: () => ({topologyKey: ZONE})},
  nodes: {words: "Which nodes", made: () => ({new: true})},
  notOn: {words: "Why not on a node", made: ({nodes}) => ({node: nodes[0]})},
  holds: {words: "Yes or no", made: () => ({pending: 0})},
  message: {words: "What the scheduler says", made: () => REASONS},
};

// claims are what a question for yes or no can be about.
const claims = {"All pods run": {pending: 0}, "All rollouts end": {rollouts: true}};

const kindOf = (question) => Object.keys(kinds).find((kind) => question?.[kind] !== undefined) ?? "number";

export function drawBuilder(on) {
  const panel = document.getElementById("builder"),
    top = panel.scrollTop;
  keepingTyped(panel, () => {
    panel.replaceChildren();
    fill(panel, {}, formOf(on));
  });
  panel.scrollTop = top;
}

// keepingTyped redraws without losing what is being typed.
function keepingTyped(panel, redraw) {
  const typed = panel.contains(document.activeElement)
    ? /** @type {HTMLInputElement} */ (document.activeElement)
    : null;
  const {value, selectionStart, selectionEnd} = typed ?? {};
  keepingFocus(redraw);
  const again = /** @type {HTMLInputElement} */ (document.activeElement);
  if (!typed || !panel.contains(again) || typeof value !== "string" || again.type === "checkbox") return;
  again.value = value;
  if (typeof selectionStart === "number") again.setSelectionRange(selectionStart, selectionEnd);
}

function formOf({changed, tryIt, link}) {
  const {scenario, problem} = scenarioOf(state.input);
  if (problem) return [h("p", {class: "hint"}, `The form cannot read the text: ${problem}.`)];
  const name = state.report?.steps[view.step]?.name ?? "",
    nodes = nodesOf[view.step] ?? [],
    at = stepAt(scenario, name);
  const edit = (make, shows) => {
    const {main, files} = state.input;
    changed({main, files: {...files, [main]: make(files[main])}}, shows);
  };
  const set = (path, value, shows) =>
    edit((text) => (value === "" || value === undefined ? cut(text, path) : put(text, 0, path, value)), shows);
  const form = {scenario, name, nodes, at, edit, set, changed};
  return [
    h("h2", {}, "Your lesson"),
    text(form, "Title", ["metadata", "name"]),
    text(form, "What the class learns", ["description"], 3),
    clusterPart(form),
    stepPart(form),
    at >= 0 && questionsPart(form),
    h(
      "p",
      {class: "buttons"},
      h("button", {type: "button", class: "button", click: tryIt}, "Try it"),
      copyButton(link),
    ),
    h(
      "p",
      {class: "hint"},
      "The class opens the link. Share, Save YAML writes the lesson as a file, which the opening page and simulate serve open.",
    ),
  ];
}

const cut = (text, path) => (get(scenarioOf(state.input).scenario, path) === undefined ? text : remove(text, 0, path));

function copyButton(link) {
  const button = h(
    "button",
    {
      type: "button",
      class: "button",
      "data-focus": "class link",
      click: async () => {
        const address = await link();
        try {
          await navigator.clipboard.writeText(address);
          button.textContent = inLanguage("Link copied");
        } catch {
          button.after(h("input", {readonly: true, value: address, "aria-label": "Link for the class"}));
        }
      },
    },
    "Copy the link for the class",
  );
  return button;
}

// labelled is a control with its label; path names it to who redraws the form.
const labelled = (label, path, control) =>
  h("label", {}, label, fill(control, {"data-focus": "built " + path.join(".")}, []));

function text({scenario, set}, label, path, rows = 1) {
  const value = String(get(scenario, path) ?? "").trimEnd();
  const change = (event) => set(path, event.target.value && rows > 1 ? event.target.value + "\n" : event.target.value);
  return labelled(
    label,
    path,
    rows > 1 ? h("textarea", {rows, change}, value) : h("input", {type: "text", value, change}),
  );
}

const number = ({scenario, set}, label, path, min, max) =>
  Number.isInteger(get(scenario, path)) &&
  labelled(
    label,
    path,
    h("input", {
      type: "number",
      min,
      max,
      value: get(scenario, path),
      change: ({target}) => set(path, Math.max(min, Math.min(max, Math.round(Number(target.value)) || min))),
    }),
  );

// choice has options of [value, words].
const choice = (label, path, value, options, change) =>
  labelled(
    label,
    path,
    h(
      "select",
      {change: (event) => change(event.target.value)},
      (options.some(([one]) => one === value) ? options : [[value, value], ...options]).map(([one, words]) =>
        h("option", {value: one, selected: one === value}, words),
      ),
    ),
  );

// clusterPart has the numbers of a cluster that is made of zones with equal nodes.
function clusterPart(form) {
  const path = ["cluster", 0, "synthetic"];
  const fields = [
    number(form, "Zones", [...path, "zones", 0, "count"], 1, 9),
    number(form, "Nodes in each zone", [...path, "nodeGroups", 0, "count"], 1, 9),
    number(form, "CPUs of each node", [...path, "nodeGroups", 0, "cpu"], 1, 64),
  ].filter(Boolean);
  return fields.length > 0 && [h("h3", {}, "The cluster"), h("div", {class: "row"}, fields)];
}

function stepPart(form) {
  const {scenario, name, nodes, at, edit, set} = form;
  const steps = listOf(scenario.steps),
    step = steps[at],
    names = steps.map((one) => one?.name);
  const workload = step && (deploymentsAt(name)[0] ?? "deployment/web");
  const placesOf = (key) =>
    [...new Set(nodes.map((node) => domainOf(node, key)).filter(Boolean))].map((domain) => `${key}=${domain}`);
  const places = [...placesOf(ZONE), ...placesOf(HOSTNAME)];
  const action = step && Object.keys(actions).find((one) => step[one]);
  // The text can have changed since the form was drawn.
  const add = () => {
    const steps = listOf(scenarioOf(state.input).scenario.steps);
    const fresh = unused(
      "step",
      steps.map((one) => one?.name),
    );
    edit(
      (text) =>
        insert(text, 0, ["steps", at + 1], {
          name: fresh,
          description: "What happens in this step.\n",
          scale: {target: deploymentsAt(name)[0] ?? "deployment/web", replicas: 4},
        }),
      fresh,
    );
  };
  return [
    h("h3", {}, `Step ${at + 1} of ${steps.length}`),
    step && [
      labelled(
        "Name",
        ["steps", at, "name"],
        h("input", {
          type: "text",
          value: name,
          change: ({target}) => {
            const wanted = target.value
              .trim()
              .toLowerCase()
              .replace(/[^\w]+/g, "-")
              .replace(/^-+|-+$/g, "");
            if (wanted && !names.includes(wanted)) set(["steps", at, "name"], wanted, wanted);
          },
        }),
      ),
      text(form, "What the class reads", ["steps", at, "description"], 4),
      choice(
        "What happens",
        ["steps", at, "action"],
        action ?? "",
        [...Object.entries(actions).map(([one, {words}]) => [one, words]), ...(action ? [] : [["", "nothing"]])],
        (one) => {
          if (!actions[one]) return;
          const made = actions[one].made({
            workload,
            places,
            fresh: unused(
              "app",
              deploymentsAt(name).map((title) => title.slice("deployment/".length)),
            ),
          });
          edit((text) => put(action ? remove(text, 0, ["steps", at, action]) : text, 0, ["steps", at, one], made));
        },
      ),
      action === "apply" && appliedPart(form),
      (action === "scale" || action === "rollout") &&
        choice(
          "Which",
          ["steps", at, action, "target"],
          step[action].target,
          deploymentsAt(name).map((title) => [title, title]),
          (target) => set(["steps", at, action, "target"], target),
        ),
      action === "scale" && number(form, "Replicas", ["steps", at, "scale", "replicas"], 0, 30),
      ["fail", "restore", "cordon", "uncordon"].includes(action) &&
        choice(
          "Which",
          ["steps", at, action, "selector"],
          step[action].selector ?? listOf(step[action].names).join(", "),
          places.map((place) => [place, placeWords(place)]),
          (place) => edit((text) => put(text, 0, ["steps", at, action], {selector: place})),
        ),
    ],
    h(
      "p",
      {class: "buttons"},
      h("button", {type: "button", class: "button", "data-focus": "add step", click: add}, "Add a step"),
      step &&
        steps.length > 1 &&
        h(
          "button",
          {
            type: "button",
            class: "link",
            click: () => edit((text) => remove(text, 0, ["steps", at]), names[at - 1] ?? names[at + 1]),
          },
          "Remove this step",
        ),
    ),
  ];
}

const placeWords = (place) => {
  const [key, domain] = place.split("=");
  return `${noun(key)} ${domain}`;
};

const deploymentsAt = (step) =>
  workloadsAt(state.input, step)
    .workloads.filter(({kind}) => kind === "Deployment")
    .map(({name}) => `deployment/${name}`);

// unused is a name that is not taken.
function unused(name, taken) {
  let n = 1;
  while (taken.includes(n === 1 ? name : `${name}-${n}`)) n++;
  return n === 1 ? name : `${name}-${n}`;
}

// appliedPart has the name of the Deployment that a step applies, what its pods request, and its levers.
function appliedPart(form) {
  const {scenario, name, nodes, at, edit, set, changed} = form;
  const path = ["steps", at, "apply", "objects", 0],
    object = get(scenario, path);
  if (object?.kind !== "Deployment") return h("p", {class: "hint"}, "What it applies stands in the text.");
  const own = object.metadata?.name;
  const {levers} = read(state.input, name, nodes);
  const pull = (lever, value) => changed(write(state.input, name, lever.id, value, nodes));
  const spec = [...path, "spec"],
    cpu = [...spec, "template", "spec", "containers", 0, "resources", "requests", "cpu"];
  return h(
    "div",
    {class: "row"},
    labelled(
      "Deployment",
      [...path, "metadata", "name"],
      h("input", {
        type: "text",
        value: own,
        change: ({target}) => {
          const wanted = target.value.trim().toLowerCase();
          if (!/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(wanted)) return;
          // The pods' label and what selects it are the name, too, also in rules and questions of the step.
          edit((text) => {
            const said = JSON.stringify(get(scenario, ["steps", at])),
              now = JSON.parse(
                said
                  .replaceAll(`"app":${JSON.stringify(own)}`, `"app":${JSON.stringify(wanted)}`)
                  .replaceAll(`"app=${own}"`, `"app=${wanted}"`),
              );
            now.apply.objects[0].metadata.name = wanted;
            return put(text, 0, ["steps", at], now);
          });
        },
      }),
    ),
    labelled(
      "CPU that each pod requests",
      cpu,
      h("input", {type: "text", value: get(scenario, cpu) ?? "", change: ({target}) => set(cpu, target.value.trim())}),
    ),
    levers
      .filter(({of, id}) => of.workload === `deployment/${own}` && /^(replicas|rule|key|weight) /.test(id))
      .map((lever) => control(lever, pull, "built-")),
  );
}

function questionsPart(form) {
  const {scenario, name, nodes, at, edit} = form;
  const asked = listOf(scenario.steps[at].questions);
  const add = () => {
    const made = {ask: "How many pods does each zone get?", number: kinds.number.made()};
    edit((text) =>
      asked.length > 0
        ? insert(text, 0, ["steps", at, "questions", asked.length], made)
        : put(text, 0, ["steps", at, "questions"], [made]),
    );
  };
  const answers = state.quiz?.find(({step}) => step === name)?.questions ?? [];
  return [
    h("h3", {}, "Questions before the step is shown"),
    asked.map((question, i) => {
      const path = ["steps", at, "questions", i],
        kind = kindOf(question),
        answer = answers.find(({ask}) => ask === question?.ask);
      const swap = (to) => {
        const {[kind]: _, selector, ...rest} = question;
        edit((text) => put(text, 0, path, {...rest, [to]: kinds[to].made({nodes: nodes.map((node) => node.name)})}));
      };
      return h(
        "fieldset",
        {},
        text(form, "Question", [...path, "ask"]),
        h(
          "div",
          {class: "row"},
          choice(
            "It asks",
            [...path, "kind"],
            kind,
            Object.entries(kinds).map(([one, {words}]) => [one, words]),
            swap,
          ),
          optionsOf[kind](form, [...path, kind], question[kind]),
        ),
        text(form, "Why it is so", [...path, "why"], 2),
        h(
          "p",
          {class: "hint"},
          answer
            ? [
                "The run answers: ",
                h(
                  "b",
                  {},
                  inline(answer.said).map((block) => element(block)),
                ),
              ]
            : "The run has no answer to it yet.",
        ),
        h(
          "button",
          {type: "button", class: "link", click: () => edit((text) => remove(text, 0, path))},
          "Remove this question",
        ),
      );
    }),
    h(
      "p",
      {},
      h("button", {type: "button", class: "button", "data-focus": "add question", click: add}, "Add a question"),
    ),
  ];
}

const podsOf = ({name, set}, path, value) => {
  const labels = workloadsAt(state.input, name)
    .workloads.map(({object}) => get(object, ["spec", "template", "metadata", "labels", "app"]))
    .filter(Boolean);
  return choice(
    "Of which pods",
    [...path, "selector"],
    value?.selector ?? "",
    [["", "all"], ...labels.map((app) => [`app=${app}`, `app=${app}`])],
    (selector) => set([...path, "selector"], selector),
  );
};

const checked = ({set}, label, path, value) =>
  h(
    "label",
    {class: "toggle"},
    h("input", {
      type: "checkbox",
      checked: Boolean(value),
      "data-focus": "built " + path.join("."),
      change: ({target}) => set(path, target.checked || undefined),
    }),
    label,
  );

// optionsOf are the fields of each kind of question.
const optionsOf = {
  number: (form, path, value) => [
    podsOf(form, path, value),
    choice(
      "Counted",
      [...path, "by"],
      value.pending ? "pending" : (value.topologyKey ?? ""),
      [
        ["", "that run"],
        ["pending", "that are Pending"],
        ...[...new Set(form.nodes.flatMap((node) => Object.keys(node.topology ?? {})))].map((key) => [
          key,
          `in each ${noun(key)}`,
        ]),
      ],
      (by) => {
        const {selector} = value;
        form.set(path, {
          ...(selector && {selector}),
          ...(by === "pending" ? {pending: true} : by ? {topologyKey: by} : {}),
        });
      },
    ),
  ],
  nodes: (form, path, value) => [
    podsOf(form, path, value),
    checked(form, "only new pods", [...path, "new"], value.new),
  ],
  notOn: (form, path, value) => [
    choice(
      "Node",
      [...path, "node"],
      value.node,
      form.nodes.map(({name}) => [name, name]),
      (node) => form.set([...path, "node"], node),
    ),
    podsOf(form, path, value),
  ],
  holds: (form, path, value) => {
    const is = Object.keys(claims).find((words) => JSON.stringify(claims[words]) === JSON.stringify(value)) ?? "";
    return choice(
      "Does it hold that",
      path,
      is,
      [...Object.keys(claims).map((words) => [words, words]), ...(is ? [] : [["", "what the text says"]])],
      (words) => words && form.set(path, claims[words]),
    );
  },
  message: ({set}, path, value) =>
    labelled(
      "Options, a line each",
      path,
      h(
        "textarea",
        {
          rows: 3,
          change: ({target}) =>
            set(
              path,
              target.value
                .split("\n")
                .map((line) => line.trim())
                .filter(Boolean),
            ),
        },
        listOf(value).join("\n"),
      ),
    ),
};
