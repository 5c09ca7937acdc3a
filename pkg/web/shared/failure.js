// What a failure takes, and what comes back: the panel beside the map, and the tables of all failures.

import {
  blast,
  groupBy,
  levelKeys,
  live,
  marks,
  nodesOf,
  qualified,
  report,
  steps,
  unknown,
  workloadOf,
  workloadTitle,
} from "./data.js";
import {chip, grave, growing, h, many, manyRows, radiusBar, section, svg, table} from "./dom.js";
import {failButton, stepLink} from "./links.js";
import {blastStep, failing, failureOf, lossOf, notBack, ofNode, recoveryOf, takes} from "./losses.js";
import {foundPanel, nodeDetails} from "./search.js";
import {fail, restore, view} from "./view.js";
import {sameWait, waitsOf} from "./waits.js";
import {count, figure, firsts, HOSTNAME, listed, noun, number, percent} from "./words.js";

export function panelOf(step) {
  return view.failed ? failurePanel(step, view.failed) : view.found ? foundPanel(step, view.found) : invitation(step);
}

function invitation(step) {
  const looked = blastStep(step);
  const levels = (looked?.levels ?? []).filter((level) => radiusOf(level).replicas > 0);
  return [
    h("h3", {}, "What if something fails?"),
    h(
      "p",
      {class: "operate"},
      `Select a ${listed([...levelKeys, HOSTNAME].map(noun)).replace(/ and (?=[^ ]*$)/, " or ")} on the map: it ` +
        "fails, and this panel says what is lost" +
        (live || (looked && blast.recover) ? " and what comes back." : "."),
    ),
    h("p", {class: "hint operate"}, "Shift and click adds another one of the same kind. Escape restores. / searches."),
    !live &&
      !(looked && blast.recover) &&
      lacking(
        blast ? "What comes back is not on this page." : "Budgets, quorums and what comes back are not on this page.",
      ),
    levels.length > 0 && [
      h("h4", {}, "The worst of each level"),
      h("ul", {class: "worst"}, levels.map(radiusItem(step))),
    ],
    oneReplicaPart(looked),
  ];
}

// radiusOf is the radius of the workloads of several replicas: those of one are lost whole wherever they are. A level
// without others has theirs.
const radiusOf = (level) => (level.replicated?.replicas > 0 ? level.replicated : level.radius);

const radiusItem = (step) => (level) => {
  const radius = radiusOf(level);
  return h(
    "li",
    {},
    failButton(step, level.topologyKey, radius.domains),
    radiusBar(radius.share),
    h("small", {}, takes(radius)),
  );
};

const oneReplicaPart = (looked) =>
  looked?.oneReplica?.length > 0 &&
  h(
    "p",
    {class: "hint"},
    `${count(looked.oneReplica.length, "workload")} ${looked.oneReplica.length === 1 ? "has" : "have"} one ` +
      "replica: any failure of their domain takes them whole.",
  );

// lacking says what the page does not hold, and which flag brings it.
const lacking = (words, command = "simulate run … --failures recover --report html=…") =>
  h("p", {class: "hint lacking"}, words, " ", h("code", {}, command), " looks at it.");

function failurePanel(step, {key, domains}) {
  const nodes = nodesOf[steps.indexOf(step)];
  const failed = failing(step, key, domains);
  const failure = failureOf(step, key, domains);
  const loss = lossOf(step, failed);
  const many = domains.length > 1;
  const words = many
    ? `${noun(key)}s ${listed(domains)} fail`
    : `${noun(key)[0].toUpperCase()}${noun(key).slice(1)} ${domains[0]} fails`;
  return [
    h(
      "div",
      {class: "panelhead"},
      h("h3", {id: "failed-title"}, words),
      h("button", {type: "button", class: "restore", click: restore}, "Restore", h("kbd", {}, "Esc")),
    ),
    h(
      "p",
      {},
      `${count(failed.size, "node")} of ${number(nodes.length)}`,
      failure && `, ${percent(failure.cpu)} of the CPU and ${percent(failure.memory)} of the memory`,
      `; ${number(loss.pods)} of ${count(loss.of, "pod")} lost.`,
    ),
    key === HOSTNAME &&
      nodes
        .filter((node) => failed.has(node.name))
        .slice(0, 4)
        .map((node) => nodeDetails(step, node)),
    lostOf(step, loss, failure),
    comesBack(step, key, domains, failure),
  ];
}

// lostOf lists what is lost by workload, from the placements, with what was found out of budgets and quorums.
function lostOf(step, loss, failure) {
  if (loss.pods === 0) return [h("h4", {}, "Lost"), h("p", {}, "Nothing: no pod runs there.")];
  const told = new Map(
    (failure?.workloads ?? []).map((of) => [`${of.namespace}/${of.kind.toLowerCase()}/${of.name}`, of]),
  );
  const named = new Set(
    (failure?.workloads ?? []).flatMap((of) => (of.brokenBudgets ?? []).map((budget) => of.namespace + "/" + budget)),
  );
  const others = (failure?.brokenBudgets ?? []).filter((budget) => !named.has(budget));
  const list = h("ul", {class: "losses"});
  many(list, loss.workloads, 10, (some) =>
    list.append(
      ...some.map((of) => {
        const known = told.get(of.key);
        const warnings = [
          of.lost === of.replicas && "nothing is left",
          known?.quorumLost && `quorum lost: needs ${known.quorum}, ${of.replicas - of.lost} left`,
          known?.brokenBudgets && `disruption budget broken: ${listed(known.brokenBudgets)}`,
        ].filter(Boolean);
        return h(
          "li",
          {},
          h("p", {}, chip(marks.get(of.key), "lost"), h("b", {}, qualified(of.namespace, of.workload))),
          radiusBar(
            of.lost / of.replicas,
            `${number(of.lost)} of ${number(of.replicas)}, ${percent(of.lost / of.replicas)}`,
          ),
          warnings.length > 0 && h("p", {class: "warning"}, "▲ " + warnings.join("; ")),
          known?.sharedFate &&
            h("p", {class: "names"}, `${known.sharedFate.length} of them shared a domain, and so their fate.`),
          of.pods.length <= 4
            ? h("p", {class: "names"}, of.pods.map((pod) => pod.name).join(", "))
            : h(
                "details",
                {},
                h("summary", {}, "Names"),
                growing(of.pods, 50, (pod) => h("div", {class: "names"}, pod.name)),
              ),
        );
      }),
    ),
  );
  return [
    h("h4", {}, "Lost"),
    list,
    loss.others > 0 &&
      h(
        "p",
        {class: "hint"},
        `${count(loss.others, "pod")} of DaemonSets or without an owner ${loss.others === 1 ? "is" : "are"} lost, ` +
          "too; such pods live and die with their node.",
      ),
    others.length > 0 && h("p", {class: "warning"}, `▲ disruption budget broken: ${listed(others)}`),
  ];
}

// comesBack tells of the recovery, or why there is nothing to tell.
function comesBack(step, key, domains, failure) {
  const title = h("h4", {}, "What comes back");
  const {recovery, like} = live || blast?.recover ? recoveryOf(step, key, failure) : {};
  if (recovery) return [title, ...cameBack(key, recovery, like)];
  if (live) return [title, h("p", {class: "hint"}, view.refused ?? "The engine looks at it …")];
  if (![...levelKeys, HOSTNAME].includes(key))
    return [title, lacking("Not on this page.", `simulate blast … --level ${key}`)];
  if (!blast) return [title, lacking("Not on this page, which holds placements alone.")];
  if (!blast.recover) return [title, lacking("Not on this page, which counts only what failures take.")];
  if (domains.length > 1 && domains.length !== blast.simultaneous) {
    return [
      title,
      lacking(
        `The page cannot know what comes back when ${number(domains.length)} fail at once.`,
        `simulate blast … --level ${noun(key)} --simultaneous ${domains.length}`,
      ),
    ];
  }
  const why =
    domains.length !== blast.simultaneous
      ? `the report looks at ${count(blast.simultaneous, "domain")} of a level that ` +
        `${blast.simultaneous === 1 ? "fails" : "fail"} together`
      : failure && blast.worst
        ? `the report looks at the ${blast.worst} worst failures of each level`
        : "the report does not hold this failure";
  return [title, h("p", {class: "hint"}, `Not looked at: ${why}.`)];
}

function cameBack(key, recovery, like) {
  const recovered = recovery.recovered ?? [],
    stranded = recovery.stranded ?? [],
    unreplaced = (recovery.notReplaced ?? []).filter((pod) => !ofNode(pod)),
    lostWork = recovery.lostWork ?? [];
  return [
    h("p", {class: "hint"}, `Nodes fail as: ${blast.mode}.`),
    like &&
      h(
        "p",
        {class: "hint"},
        `As for ${noun(key)} ${listed(like)}, whose nodes differ from these in nothing but their names; pods and ` +
          "nodes below are those of that failure.",
      ),
    fates(recovery),
    recovery.preempted > 0 &&
      h("p", {}, `${count(recovery.preempted, "pod")} of these had not failed, and made room for others.`),
    recovered.length > 0 &&
      h(
        "div",
        {class: "fate recovered"},
        h("h5", {}, `Recovered: ${number(recovered.length)}`),
        growing(
          groupBy(recovered, (pod) => JSON.stringify([workloadOf(pod), pod.node])),
          8,
          (pods) =>
            h(
              "li",
              {},
              chip(marks.get(workloadOf(pods[0])) ?? unknown, "arrived"),
              h(
                "span",
                {},
                firsts(
                  pods.map((pod) => qualified(pod.namespace, pod.name)),
                  3,
                ),
                " → ",
                h("b", {}, pods[0].node),
              ),
            ),
        ),
      ),
    stranded.length > 0 &&
      h(
        "div",
        {class: "fate stranded"},
        h("h5", {}, `Do not come back, as they find no node: ${number(stranded.length)}`),
        growing(
          groupBy(stranded, (pod) => JSON.stringify([workloadOf(pod), sameWait(pod)])),
          4,
          (pods) =>
            h(
              "li",
              {},
              chip(marks.get(workloadOf(pods[0])) ?? unknown, "stranded"),
              h(
                "span",
                {},
                firsts(
                  pods.map((pod) => qualified(pod.namespace, pod.name)),
                  3,
                ),
                waitsOf(pods[0]).map((line) => h("span", {class: "message"}, line)),
              ),
            ),
        ),
      ),
    unreplaced.length > 0 &&
      h(
        "div",
        {class: "fate unreplaced"},
        h("h5", {}, `Do not come back, as nothing makes them anew: ${number(unreplaced.length)}`),
        growing(
          groupBy(unreplaced, (pod) => pod.why),
          4,
          (pods) =>
            h(
              "li",
              {},
              h(
                "span",
                {},
                firsts(
                  pods.map((pod) => qualified(pod.namespace, pod.name)),
                  3,
                ),
                h("span", {class: "message"}, pods[0].why),
              ),
            ),
        ),
      ),
    lostWork.length > 0 &&
      h(
        "div",
        {class: "fate unreplaced"},
        h("h5", {}, `Lost work: ${number(lostWork.length)}`),
        growing(groupBy(lostWork, workloadOf), 4, (pods) =>
          h(
            "li",
            {},
            h(
              "span",
              {},
              firsts(
                pods.map((pod) => qualified(pod.namespace, pod.name)),
                3,
              ),
              h("span", {class: "message"}, "runs once, for a controller that is not part of the input"),
            ),
          ),
        ),
      ),
    h("h4", {}, `One more ${noun(key)}`),
    recovery.after.replicas > 0
      ? [
          radiusBar(recovery.after.share),
          h(
            "p",
            {},
            `The next failure would take up to ${takes(recovery.after)}, with ${noun(key)} ` +
              `${listed(recovery.after.domains ?? [])}.`,
          ),
        ]
      : h("p", {}, "The next failure would take nothing of any workload."),
  ];
}

// fates is one bar of what became of the lost pods; nothing if there are none.
function fates(recovery) {
  const parts = [
    ["recovered", "back", recovery.recovered?.length ?? 0],
    ["stranded", "not back", notBack(recovery)],
    ["unreplaced", "work lost", recovery.lostWork?.length ?? 0],
  ].filter(([, , n]) => n > 0);
  if (parts.length === 0) return null;
  return h(
    "div",
    {class: "fates", role: "img", "aria-label": parts.map(([, text, n]) => `${n} ${text}`).join(", ")},
    parts.map(([kind, text, n]) =>
      h("span", {class: kind, style: {"flex-grow": n}}, h("b", {}, number(n)), " " + text),
    ),
  );
}

// radiusPart shows the blast radius of each level after the step, and its failures.
export function radiusPart(step) {
  const looked = blastStep(step);
  if (!looked) return null;
  return section(
    "radius",
    "Blast radius",
    h(
      "p",
      {class: "hint"},
      "The largest share of any workload of several replicas that the failure of " +
        `${blast.simultaneous === 1 ? "one domain" : count(blast.simultaneous, "domain")} takes.`,
    ),
    oneReplicaPart(looked),
    !live && !blast.recover && lacking("What comes back is not on this page."),
    h(
      "div",
      {class: "levels"},
      looked.levels.map((level) => levelCard(step, level)),
    ),
    riskOf(looked.risk),
  );
}

function levelCard(step, level) {
  const radius = radiusOf(level),
    share = worstShare(level);
  const worst = level.failures.find(
    (failure) =>
      radius.domains?.length === failure.domains.length &&
      failure.domains.every((domain) => radius.domains.includes(domain)),
  );
  const {recovery} = recoveryOf(step, level.topologyKey, worst);
  const order = [...level.failures].sort((a, b) => share(b) - share(a) || b.pods - a.pods);
  return h(
    "div",
    {class: "card"},
    h("h4", {}, noun(level.topologyKey), h("small", {}, count(level.domains, "domain"))),
    radius.replicas > 0
      ? [
          h("p", {class: "big"}, percent(radius.share)),
          h("p", {}, takes(radius), ", with ", failButton(step, level.topologyKey, radius.domains)),
        ]
      : [h("p", {class: "big"}, "0%"), h("p", {}, "No failure takes a pod of a workload.")],
    sharesChart(level),
    recovery?.lost > 0 && [
      h("p", {class: "hint"}, "After the worst:"),
      fates(recovery),
      h("p", {class: "hint"}, `One more takes up to ${percent((recovery.afterReplicated ?? recovery.after).share)}.`),
    ],
    level.search && h("p", {class: "hint"}, level.search),
    level.unlabelled && h("p", {class: "hint"}, `In no ${noun(level.topologyKey)}: ${firsts(level.unlabelled, 3)}`),
    order.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `All failures (${number(order.length)})`),
        manyRows(
          `Failures of each ${noun(level.topologyKey)}`,
          [
            noun(level.topologyKey),
            {text: "Pods", number: true},
            "Radius",
            {text: "Back", number: true},
            {text: "Not back", number: true},
          ],
          order,
          12,
          (failure) => {
            const came = recoveryOf(step, level.topologyKey, failure).recovery;
            const figures = came ? [came.recovered?.length ?? 0, notBack(came)].map(number) : ["–", "–"];
            return h(
              "tr",
              {},
              h("td", {}, failButton(step, level.topologyKey, failure.domains)),
              h("td", {class: "number"}, number(failure.pods)),
              h("td", {}, radiusBar(share(failure))),
              figures.map((text) => h("td", {class: "number"}, text)),
            );
          },
        ),
      ),
  );
}

// worstShare says for failures of the level which is the largest share that each takes, of the workloads of its radius.
const worstShare = (level) => (failure) => {
  // The workloads are sorted by their share.
  const worst = failure.workloads?.find((loss) => loss.replicas > 1 || !(level.replicated?.replicas > 0));
  return worst ? worst.lost / worst.replicas : 0;
};

// sharesChart draws each failure as a column as high as the largest share that it takes, the worst first.
function sharesChart(level) {
  const share = worstShare(level);
  const shares = level.failures
    .map((failure) => ({share: share(failure), failures: 1}))
    .toSorted((a, b) => b.share - a.share);
  const total = shares.reduce((sum, share) => sum + share.failures, 0);
  if (total < 2) return null;
  const each = total <= 16,
    width = each ? 15 * total : 240,
    height = 40,
    top = 10;
  let at = 0;
  const columns = shares.flatMap(({share, failures}) => {
    const pieces = each ? failures : 1,
      wide = (width * failures) / total / pieces,
      high = Math.max(1, share * height);
    return Array.from({length: pieces}, () => {
      at += wide;
      return svg("rect", {
        class: grave(share),
        x: at - wide,
        y: top + height - high,
        width: Math.max(0.5, wide - (each ? 3 : 0)),
        height: high,
      });
    });
  });
  const label =
    shares
      .map(({share, failures}) => `${failures} × ${percent(share)}`)
      .slice(0, 6)
      .join(", ") + (shares.length > 6 ? ", …" : "");
  return h(
    "figure",
    {class: "shares"},
    svg(
      "svg",
      {
        viewBox: `0 0 ${width + 30} ${top + height + 2}`,
        width: width + 30,
        role: "img",
        "aria-label": `Failures by largest share of a workload: ${label}`,
      },
      svg("line", {x1: 0, x2: width, y1: top, y2: top, "stroke-dasharray": "3 3"}),
      svg("text", {x: width + 3, y: top + 3}, "100%"),
      svg("line", {x1: 0, x2: width, y1: top + height + 0.5, y2: top + height + 0.5}),
      columns,
    ),
    h(
      "figcaption",
      {},
      `Each failure, the worst first${(level.mean ?? null) === null ? "" : "; mean " + percent(level.mean)}`,
    ),
  );
}

// riskOf is how likely workloads are to have pods down.
function riskOf(risk) {
  if (!risk) return null;
  const likely = (p) =>
    !p
      ? "–"
      : figure(100 * p.value) +
        "%" +
        (p.low === undefined ? "" : ` (${figure(100 * p.low)}% to ${figure(100 * p.high)}%)`) +
        `, ${figure(p.hoursPerYear)} h/year`;
  return h(
    "details",
    {class: "risk"},
    h("summary", {}, "How likely it is, at a random moment"),
    manyRows(
      "Risk by workload",
      [
        "Workload",
        {text: "Replicas", number: true},
        {text: "Expected down", number: true},
        "Below budget",
        "Below quorum",
        "All down",
        "Method",
      ],
      risk.workloads,
      20,
      (of) =>
        h(
          "tr",
          {},
          [workloadTitle(of)].map((text) => h("td", {}, text)),
          [of.replicas, figure(of.expectedDown)].map((text) => h("td", {class: "number"}, text)),
          [
            (of.budgets ?? []).map((budget) => `${budget.name}: ${likely(budget.below)}`).join("; ") || "–",
            likely(of.belowQuorum),
            likely(of.allDown),
            of.method,
          ].map((text) => h("td", {}, text)),
        ),
    ),
    h(
      "ul",
      {class: "hint"},
      risk.assumptions.map((text) => h("li", {}, text)),
    ),
  );
}

// radiusOverSteps compares the steps: the radius of each level after each.
export function radiusOverSteps() {
  if (!blast || !report || blast.steps.length < 2) return null;
  const keys = [...new Set(blast.steps.flatMap((step) => step.levels.map((level) => level.topologyKey)))];
  return section(
    "over",
    "Blast radius, step by step",
    table(
      "Blast radius by step and level",
      ["Step", ...keys.map(noun)],
      blast.steps.map((looked) =>
        h(
          "tr",
          {"data-step": looked.name},
          h("th", {scope: "row"}, stepLink(looked.name)),
          keys.map((key) => {
            const level = looked.levels.find((of) => of.topologyKey === key);
            const radius = level && radiusOf(level);
            return h(
              "td",
              {title: radius?.replicas > 0 ? takes(radius) : undefined},
              radius ? radiusBar(radius.share) : "–",
            );
          }),
        ),
      ),
    ),
  );
}
