// The tables of a step: what was done and expected, workloads, Pending pods, and all pods with how their nodes were
// chosen.

import {
  countPods,
  changesOf,
  changeWords,
  domainOf,
  groupBy,
  levelKeys,
  live,
  marks,
  nodesOf,
  ofDaemonSet,
  podsByNode,
  qualified,
  requestedOn,
  signsOf,
  steps,
  unknown,
  unscheduled,
  uses,
  workloadOf,
  workloadTitle,
} from "./data.js";
import {bar, chip, growing, h, manyRows, parted, podKey, section, table, useBar, waiting} from "./dom.js";
import {failButton} from "./links.js";
import {cycleOf, scoresOf} from "./scores.js";
import {sameWait} from "./waits.js";
import {count, firsts, HOSTNAME, listed, noun, number, titleOf} from "./words.js";

export function stepHead(step, i) {
  const s = step.summary;
  const figures = [
    ["Pods", s.pods],
    ["Running", s.running],
    ["Pending", s.pending, "warn"],
    ["Refused", s.notCreated, "warn"],
    ["On lost nodes", s.notReady, "bad"],
    ["Placed in this step", s.placed],
    ["Preempted", s.preempted, "warn"],
  ];
  return [
    h("p", {class: "eyebrow"}, `Step ${i + 1} of ${steps.length}`),
    h("h2", {id: "step-title"}, step.name),
    h("p", {class: "action"}, h("code", {}, step.action)),
    h(
      "dl",
      {class: "figures"},
      figures
        .filter(([, n], at) => n > 0 || at < 3)
        .map(([text, n, kind]) => h("div", {class: n > 0 ? kind : ""}, h("dt", {}, text), h("dd", {}, number(n)))),
    ),
  ];
}

// whyOf is why a step came so.
export const whyOf = (step) =>
  step.why?.length > 0 &&
  h(
    "div",
    {class: "words"},
    h("h4", {}, "Why"),
    growing(
      step.why.map((text, at) => [text, at]),
      8,
      ([text, at]) => h("li", {}, text, rulesBelow(step, at)),
    ),
  );

// toldOf is what else there is to say of a step: what was expected, and how it differs from the step before it.
export function toldOf(step, i) {
  const sentences = (title, texts, kind) =>
    texts?.length > 0 &&
    h(
      "div",
      {class: "words " + (kind ?? "")},
      h("h4", {}, title),
      h(
        "ul",
        {},
        texts.map((text) => h("li", {}, text)),
      ),
    );
  const changes = changesOf(i);
  return [
    expectationsOf(step),
    changes.length > 0 && changed(`Since ${steps[i - 1].name}`, changes),
    sentences("Notes", step.notes),
    sentences(
      "Not scheduled by Karmada",
      unscheduled(step).map((of) => `${workloadTitle(of)}: ${of.reason}: ${of.message}`),
      "warn",
    ),
    sentences(
      "Refused by the API server",
      step.refused?.map(
        (of) =>
          `${of.pods > 0 && of.kind !== "Pod" ? count(of.pods, "pod") + " of " : ""}${workloadTitle(of)}: ` +
          `${of.message}`,
      ),
      "warn",
    ),
    sentences(
      "Rollouts that do not come to their end",
      step.rollouts?.map(
        (of) =>
          `${workloadTitle(of)}: ${of.updated} of ${of.desired} updated, ${of.old} old, ${of.ready} ready. ` +
          `${of.waiting}` +
          (of.notCreated ? ` Not created: ${firsts(of.notCreated, 4)}.` : ""),
      ),
      "warn",
    ),
    sentences(
      "Drains that do not end",
      step.drains?.flatMap((of) =>
        of.stays.map((pod) => `${of.node}: ${pod.namespace}/${pod.name} stays: ${pod.reason}`),
      ),
      "warn",
    ),
    step.preempted?.length &&
      h(
        "div",
        {class: "words warn"},
        h("h4", {}, `Preempted (${number(step.preempted.length)})`),
        growing(step.preempted, 6, (of) => h("li", {}, `${of.victim} made room on ${of.node} for ${of.for}`)),
      ),
  ];
}

// changed is what moved since then, by workload.
export const changed = (since, changes) =>
  h(
    "div",
    {class: "words changes"},
    h("h4", {}, `${since}: ${changeWords(changes).join(", ")}`),
    growing(changes, 6, (change) =>
      h(
        "li",
        {},
        h("b", {}, marks.get(change.key)?.title ?? change.key),
        ": ",
        [
          change.pending !== 0 && `${change.pending > 0 ? "+" : "−"}${number(Math.abs(change.pending))} Pending`,
          ...[
            ["−", change.off],
            ["+", change.on],
          ].map(
            ([sign, nodes]) =>
              nodes.length > 0 &&
              firsts(
                nodes.map(([node, n]) => `${sign}${number(n)} on ${node}`),
                4,
              ),
          ),
        ]
          .filter(Boolean)
          .join("; "),
      ),
    ),
  );

// rulesBelow shows, below a sentence of Why, the rules of its workload, and marks the ones that the sentence speaks of.
function rulesBelow(step, sentence) {
  const speaks = step.whyRules?.find((of) => of.sentence === sentence);
  const workload =
    speaks &&
    step.workloads.find(
      (of) => of.namespace === speaks.namespace && of.kind.toLowerCase() + "/" + of.name === speaks.workload,
    );
  if (!workload?.rules) return null;
  const {yaml, terms} = workload.rules;
  const spoken = terms.filter((term) => speaks.paths?.includes(term.path));
  const lines = yaml
    .trimEnd()
    .split("\n")
    .map((text, at) => ({text, marked: spoken.some((term) => term.from <= at + 1 && at + 1 <= term.to)}));
  const blocks = lines.reduce((all, line) => {
    if (all.at(-1)?.marked === line.marked) all.at(-1).text += "\n" + line.text;
    else all.push({...line});
    return all;
  }, []);
  return h(
    "details",
    {class: "rules", open: !live && spoken.length > 0 && step.whyRules.length <= 2},
    h(
      "summary",
      {},
      spoken.length > 0
        ? ["The rule: ", parted(listed(spoken.map((term) => term.path)))]
        : "Its rules, none of which decided",
    ),
    h(
      "pre",
      {class: "yaml", tabindex: "0", "aria-label": `Rules of ${speaks.workload}`},
      blocks.map((block) => (block.marked ? h("mark", {}, block.text) : h("span", {}, block.text))),
    ),
    workload.source && h("small", {class: "source"}, `${workload.source.file}:${workload.source.line}`),
  );
}

// nodesPart is the map as a table.
export function nodesPart(step) {
  const nodes = nodesOf[steps.indexOf(step)];
  if (nodes.length === 0) return null;
  const pods = podsByNode(step),
    requested = requestedOn(step);
  const shown = levelKeys.filter((key) => nodes.some((node) => domainOf(node, key) !== undefined)),
    measured = nodes.length > 0 ? uses(nodes[0], requested).map((use) => use.of) : [];
  return section(
    "nodes",
    `Nodes (${number(nodes.length)})`,
    manyRows(
      "Nodes",
      [
        "Node",
        ...shown.map(titleOf),
        {text: "Pods", number: true},
        {text: "Of DaemonSets", number: true},
        ...measured.map((of) => `${of} requested`),
        "State",
      ],
      nodes,
      12,
      (node) => {
        const here = pods.get(node.name) ?? [];
        return h(
          "tr",
          {},
          h("td", {}, failButton(step, HOSTNAME, [domainOf(node, HOSTNAME)], node.name)),
          shown.map((key) => h("td", {}, domainOf(node, key) ?? "–")),
          [here, here.filter(ofDaemonSet)].map(countPods).map((n) => h("td", {class: "number"}, number(n))),
          measured.map((of) => h("td", {}, useBar(uses(node, requested).find((use) => use.of === of)))),
          h(
            "td",
            {},
            signsOf(node)
              .map(([, text, title]) => title ?? text)
              .join(", ") || "–",
          ),
        );
      },
    ),
  );
}

function expectationsOf(step) {
  const all = step.expectations ?? [];
  if (all.length === 0) return null;
  const met = all.filter((expectation) => expectation.met).length;
  return h(
    "div",
    {class: "words expectations"},
    h("h4", {}, `Expectations: ${met} of ${all.length} met`),
    table(
      "Expectations",
      ["", "Expected", "Seen"],
      all.map((expectation) =>
        h(
          "tr",
          {class: expectation.met ? "met" : expectation.open ? "" : "failed"},
          h(
            "td",
            {},
            h(
              "span",
              {
                class: "sign",
                "aria-label": expectation.met ? "met" : (expectation.open?.words ?? "not met"),
                role: "img",
              },
              expectation.met ? "✓" : (expectation.open?.sign ?? "✕"),
            ),
          ),
          h(
            "td",
            {},
            expectation.want,
            expectation.source &&
              h("small", {class: "source"}, `${expectation.source.file}:${expectation.source.line}`),
          ),
          h("td", {class: "got"}, expectation.got, expectation.why && h("small", {}, expectation.why)),
        ),
      ),
    ),
  );
}

// bindingsPart is what became of the workloads of a federation: which clusters Karmada gave them, and what runs there.
export function bindingsPart(step) {
  const all = step.bindings ?? [];
  if (all.length === 0) return null;
  const lacks = (share) => share.pending > 0 || share.running < share.assigned;
  return section(
    "karmada",
    "Karmada: clusters of the workloads",
    manyRows("Karmada", ["Workload", {text: "Replicas", number: true}, "Clusters", "Group", "Policy"], all, 12, (of) =>
      h(
        "tr",
        {},
        h("td", {}, workloadTitle(of)),
        h("td", {class: "number"}, of.replicas ? number(of.replicas) : "–"),
        h(
          "td",
          {class: of.reason === "Success" ? "" : "warn"},
          (of.clusters ?? []).length === 0
            ? "none"
            : h(
                "div",
                {class: "distribution"},
                of.clusters.map((share) =>
                  h(
                    "div",
                    {},
                    h("span", {class: "of"}, share.cluster),
                    bar(
                      of.replicas ? share.assigned / of.replicas : 1,
                      share.assigned
                        ? lacks(share)
                          ? `${number(share.assigned)}, ${number(share.running)} running`
                          : number(share.assigned)
                        : "",
                      lacks(share) ? "warn" : "",
                    ),
                  ),
                ),
              ),
          of.leaving && h("small", {}, `leaving ${of.leaving.join(", ")}`),
        ),
        h(
          "td",
          {},
          [of.affinityGroup && `with ${of.affinityGroup}`, of.antiAffinityGroup && `apart from ${of.antiAffinityGroup}`]
            .filter(Boolean)
            .join("; ") || "–",
        ),
        h("td", {}, of.policy),
      ),
    ),
  );
}

export function workloadsPart(step) {
  // What every node has comes last.
  const rank = (workload) => (workload.pending > 0 ? 0 : workload.kind === "DaemonSet" ? 2 : 1);
  const all = (step.workloads ?? []).toSorted((a, b) => rank(a) - rank(b));
  if (all.length === 0) return null;
  const keys = [...new Set(all.flatMap((workload) => (workload.domains ?? []).map((of) => of.topologyKey)))];
  return section(
    "workloads",
    "Workloads",
    manyRows(
      "Workloads",
      [
        "Name",
        {text: "Desired", number: true},
        {text: "Running", number: true},
        {text: "Pending", number: true},
        ...keys.map((key) => "By " + noun(key)),
      ],
      all,
      12,
      (workload) =>
        h(
          "tr",
          {},
          h(
            "td",
            {},
            chip(
              marks.get(workload.namespace + "/" + workload.kind.toLowerCase() + "/" + workload.name) ??
                marks.get(workload.namespace + "/pod") ??
                unknown,
            ),
            workloadTitle(workload),
            workload.notCreated && h("small", {}, `not created: ${firsts(workload.notCreated, 3)}`),
            workload.source && h("small", {class: "source"}, `${workload.source.file}:${workload.source.line}`),
          ),
          [workload.desired, workload.running].map((n) => h("td", {class: "number"}, number(n))),
          h("td", {class: "number" + (workload.pending > 0 ? " warn" : "")}, number(workload.pending)),
          keys.map((key) => h("td", {}, distribution(workload.domains?.find((of) => of.topologyKey === key)))),
        ),
    ),
  );
}

// distribution is a small bar chart: a bar for each domain, or where there are many for each number of pods that
// domains have.
function distribution(of) {
  const named = 12;
  const counts = of?.counts ?? []; // null where no pod of the workload runs
  if (counts.length + (of?.unlabelled ?? 0) === 0) return "–";
  const one = noun(of.topologyKey),
    domains = counts.length + of.empty;
  let bars = counts.map((domain) => [domain.domain, domain.pods]);
  if (of.empty > 0) bars.push([count(of.empty, one) + " empty", 0]);
  let most = Math.max(...bars.map(([, n]) => n));
  let caption = `skew ${number(of.skew)}`;
  if (bars.length > named) {
    const sizes = new Map(of.empty > 0 ? [[0, of.empty]] : []);
    for (const domain of counts) sizes.set(domain.pods, (sizes.get(domain.pods) ?? 0) + 1);
    bars = [...sizes]
      .sort((a, b) => a[0] - b[0])
      .slice(0, named)
      .map(([pods, n]) => [`${count(pods, "pod")} in`, n]);
    most = Math.max(...bars.map(([, n]) => n));
    caption = `${count(domains, one)}; ${caption}` + (sizes.size > named ? `; ${sizes.size - named} more counts` : "");
  }
  if (of.unlabelled > 0) caption += `; ${count(of.unlabelled, "pod")} on nodes without the label`;
  return h(
    "div",
    {class: "distribution"},
    bars.map(([text, n]) => h("div", {}, h("span", {class: "of"}, text), bar(most > 0 ? n / most : 0, number(n)))),
    h("small", {}, caption),
  );
}

export function pendingPart(step) {
  const pending = (step.pods ?? []).filter((pod) => !pod.node);
  if (pending.length === 0) return null;
  const groups = groupBy(pending, (pod) => JSON.stringify([workloadOf(pod), sameWait(pod), pod.nominated]));
  return section(
    "pending",
    `Pending pods (${number(pending.length)})`,
    manyRows("Pending pods", ["Pods", "kube-scheduler says", "Nodes by reason"], groups, 20, (pods) => {
      const [first] = pods;
      const of = Math.max(1, ...(first.reasons ?? []).map((reason) => reason.nodes));
      return h(
        "tr",
        {},
        h(
          "td",
          {},
          chip(marks.get(workloadOf(first))),
          h(
            "b",
            {},
            pods.length === 1
              ? qualified(first.namespace, first.name)
              : `${count(pods.length, "pod")} of ${marks.get(workloadOf(first)).title}`,
          ),
          pods.length > 1 &&
            h(
              "small",
              {},
              firsts(
                pods.map((pod) => pod.name),
                3,
              ),
            ),
          first.nominated && h("small", {}, `nominated to ${first.nominated}, where preemption makes room`),
        ),
        h("td", {}, waiting(first)),
        h(
          "td",
          {},
          h(
            "div",
            {class: "distribution"},
            (first.reasons ?? []).map((reason) =>
              h(
                "div",
                {},
                h("span", {class: "of"}, h("b", {}, reason.plugin), " ", reason.message),
                bar(reason.nodes / of, number(reason.nodes), "warn"),
              ),
            ),
          ),
        ),
      );
    }),
  );
}

// startingPart shows the pods that have a node and have not started, those with volumes on the same node together.
export function startingPart(step) {
  const starting = (step.pods ?? []).filter((pod) => pod.waits);
  if (starting.length === 0) return null;
  const groups = groupBy(starting, (pod) => JSON.stringify([workloadOf(pod), pod.waits]));
  return section(
    "starting",
    `Not started (${number(starting.length)})`,
    manyRows("Pods that have not started", ["Pods", "Node", "Why"], groups, 20, (pods) => {
      const [first] = pods;
      return h(
        "tr",
        {},
        h(
          "td",
          {},
          chip(marks.get(workloadOf(first))),
          firsts(
            pods.map((pod) => qualified(pod.namespace, pod.name)),
            3,
          ),
        ),
        h("td", {}, firsts([...new Set(pods.map((pod) => pod.node))], 3)),
        h("td", {}, waiting(pods.length === 1 ? first : {waits: first.waits})),
      );
    }),
  );
}

// podsPart lists every pod with its node and how that was chosen.
export function podsPart(step) {
  const rank = (pod) => (!pod.node ? 0 : ofDaemonSet(pod) ? 2 : 1);
  const all = (step.pods ?? []).toSorted((a, b) => rank(a) - rank(b));
  if (all.length === 0) return null;
  const keys = (step.topologyKeys ?? []).filter((key) => key !== HOSTNAME);
  const heads = [
    "Pod",
    "Status",
    "Node",
    ...keys.map(titleOf),
    {text: "Feasible", number: true},
    {text: "Equal best", number: true},
    {text: "Margin", number: true},
    "Decided by",
    "",
  ];
  const holder = h("div", {});
  const draw = (wanted) => {
    const found = wanted
      ? all.filter((pod) =>
          `${pod.namespace}/${pod.name} ${pod.node ?? ""} ${pod.status} ${pod.workload ?? ""}`
            .toLowerCase()
            .includes(wanted),
        )
      : all;
    holder.replaceChildren(
      found.length === 0
        ? h("p", {class: "hint"}, "No pod has such a name, node or status.")
        : manyRows("Pods", heads, found, 15, (pod) => podRow(pod, keys, heads.length)),
    );
  };
  draw("");
  return section(
    "pods",
    `Pods and how their nodes were chosen (${number(all.length)})`,
    all.length > 10 &&
      h(
        "label",
        {class: "filter"},
        "Filter",
        h("input", {
          type: "search",
          input: (event) => draw(event.target.value.trim().toLowerCase()),
          autocomplete: "off",
          spellcheck: "false",
        }),
      ),
    holder,
  );
}

function podRow(pod, keys, columns) {
  const d = pod.decision;
  const details = pod.cycle || d?.scores?.length > 0;
  const below = details && h("tr", {class: "below", hidden: true}, h("td", {colspan: columns}));
  const toggle =
    details &&
    h(
      "button",
      {
        type: "button",
        class: "scores",
        "aria-expanded": "false",
        "aria-label": `Scores of ${pod.name}`,
        click: () => {
          const open = below.hidden;
          below.hidden = !open;
          toggle.setAttribute("aria-expanded", String(open));
          if (open && below.firstChild.childElementCount === 0)
            below.firstChild.append(pod.cycle ? cycleOf(pod.cycle) : scoresOf(d));
        },
      },
      "Scores",
    );
  const figures = d
    ? [number(d.feasible), d.scored > 0 ? number(d.ties) : "–", d.scored > 0 && d.runnerUp ? number(d.margin) : "–"]
    : ["–", "–", "–"];
  const why = !d
    ? pod.node
      ? "before this step"
      : "–"
    : d.scored === 0
      ? "the only feasible node"
      : d.deciders?.length
        ? d.deciders.join(d.together ? " + " : ", ")
        : d.ties > 1
          ? "equal nodes"
          : "–";
  return [
    h(
      "tr",
      {class: pod.node ? "" : "pending"},
      h("td", {}, chip(marks.get(workloadOf(pod))), qualified(pod.namespace, pod.name)),
      h("td", {class: pod.status === "Running" ? "" : "warn"}, pod.status),
      h("td", {}, pod.node || "–"),
      keys.map((key) => h("td", {}, pod.topology?.[key] ?? "–")),
      figures.map((text) => h("td", {class: "number"}, text)),
      h("td", {}, why),
      h(
        "td",
        {},
        toggle || null,
        live &&
          h(
            "button",
            {type: "button", class: "link explains", "data-pod": podKey(pod), "aria-label": `Explain ${pod.name}`},
            "Explain",
          ),
      ),
    ),
    below || [],
  ];
}
