// Predict, then run: where the learner thinks that the next pod goes, against where the scheduler put it. From a report
// with cycles.
//
//   questions(report, step) → [question]
//       one for each pod that the scheduler looked at in the step, in the order in which it did; {pod, node,
//       candidates: [{node, total, rank, scores}], refused: [{node, plugin, message}], placed, pods, leaving}
//       node is "" where the pod stays Pending; candidates are the feasible nodes, the best first; placed are the pods
//       of the step that got their nodes before; pods are all that the cluster had just before, each with its node;
//       leaving are those that went in this step, the report does not say when
//   judge(question, choice) → {outcome, choice, node, behind, decided, words}
//       choice is the name of a node, or NOWHERE; outcome is "right", "tie" (as good as the right one) or "wrong";
//       behind is by how many points the choice is below the top, where both have a score;
//       decided: [{plugin, points, parts: [{rule, topologyKey, domain, otherDomain, raw}]}], the plugins that set the
//       chosen node apart, the largest difference first (points is the right node's weighted score less the other's;
//       raw is the difference of raw scores, of which PodTopologySpread wants the lower), or the plugin and message
//       that refused the choice, as [{plugin, message}]
//   score(judged) → {asked, right, ties, wrong, behind, share, words}     of a session, from what judge gave
//
// Reports list pods by workload, each workload's in the order in which they were placed. Of two workloads the order is
// theirs, unless a cycle counts a pod that comes later: then it comes before. Pods that stay Pending were last looked
// at when all others had their nodes. Of pods that go in the step, as in a rollout, those are known to be still there
// that this pod's cycle, or a later one, counts.

import {waitsOf} from "#shared/waits.js";

export const NOWHERE = "";

const nameOf = (pod) => `${pod.namespace}/${pod.name}`;

export function questions(report, step) {
  const at = report.steps.findIndex((one) => one.name === step);
  if (at < 0) return [];
  const looked = inOrder((report.steps[at].pods ?? []).filter((pod) => pod.cycle));
  const after = (report.steps[at].pods ?? []).filter((pod) => pod.status !== "Terminating");
  const names = new Set(looked.map(nameOf));
  const others = after.filter((pod) => !names.has(nameOf(pod)) && pod.node);
  const gone = (report.steps[at - 1]?.pods ?? []).filter(
    (pod) => pod.node && !after.some((one) => nameOf(one) === nameOf(pod)),
  );
  return looked.map((pod, i) => {
    const placed = looked.slice(0, i).filter((one) => one.node);
    const {candidates = [], refusals = []} = pod.cycle;
    const seen = new Set(looked.slice(i).flatMap((one) => [...counted(one)]));
    return {
      pod,
      node: pod.node ?? NOWHERE,
      placed,
      pods: [...others, ...gone.filter((one) => seen.has(nameOf(one))), ...placed],
      leaving: gone.filter((one) => !seen.has(nameOf(one))),
      candidates: candidates.map(({node, total, rank = 1, scores = []}) => ({node, total, rank, scores})),
      refused: refusals.flatMap(({plugin, message, nodes}) => (nodes ?? []).map((node) => ({node, plugin, message}))),
    };
  });
}

// inOrder puts pods after those that their cycles count, and otherwise leaves them as they are listed.
function inOrder(pods) {
  const byName = new Map(pods.filter((pod) => pod.node).map((pod) => [nameOf(pod), pod]));
  const done = new Set(),
    under = new Set(),
    order = [];
  const add = (pod) => {
    if (done.has(pod) || under.has(pod)) return;
    under.add(pod);
    for (const name of counted(pod)) if (byName.has(name) && name !== nameOf(pod)) add(byName.get(name));
    done.add(pod);
    order.push(pod);
  };
  for (const pod of pods) if (pod.node) add(pod);
  for (const pod of pods) if (!pod.node) add(pod);
  return order;
}

const counted = (pod) =>
  new Set(
    (pod.cycle.candidates ?? []).flatMap(({scores = []}) =>
      scores.flatMap(({parts = []}) => parts.flatMap(({pods = []}) => pods)),
    ),
  );

export function judge(question, choice) {
  const {node, candidates} = question;
  const chosen = candidates.find((candidate) => candidate.node === choice),
    right = candidates.find((candidate) => candidate.node === node);
  const found = (outcome, words, more) => ({outcome, choice, node, behind: 0, decided: [], words, ...more});
  if (choice === node) {
    if (node === NOWHERE) return found("right", whyNone(question), {decided: refusers(question)});
    const next = candidates.find((candidate) => candidate.rank > 1),
      ties = candidates.filter((candidate) => candidate.rank === 1).length;
    const words =
      ties > 1
        ? `${ties} nodes have the top score, and this one was taken`
        : next
          ? `It is ahead of ${next.node} by ${points(right.total - next.total)}`
          : "It is the only node that takes the pod";
    return found("right", words, {decided: ties > 1 || !next ? [] : apart(right, next)});
  }
  if (choice === NOWHERE) {
    return found("wrong", `${count(candidates.length, "node takes", "nodes take")} it, and ${node} is the best`, {
      decided:
        candidates[1] && right
          ? apart(
              right,
              candidates.find((one) => one !== right),
            )
          : [],
    });
  }
  if (!chosen) {
    const why = question.refused.find((one) => one.node === choice);
    if (node === NOWHERE)
      return found("wrong", why ? `No node takes it. ${choice}: ${why.message}` : whyNone(question), {
        decided: why ? [why] : refusers(question),
      });
    return found(
      "wrong",
      why
        ? `${choice} does not take it: ${why.message}`
        : `${choice} was not among the nodes that were looked at, or not among the best of them`,
      {decided: why ? [{plugin: why.plugin, message: why.message}] : []},
    );
  }
  if (!right) return found("wrong", "The pod did not get it, though the node takes it");
  const behind = right.total - chosen.total;
  if (behind === 0 && chosen.rank === right.rank)
    return found("tie", `As good: ${choice} and ${node} have the same score, and the first of them won`);
  return found("wrong", `${node} is ahead by ${points(behind)}`, {behind, decided: apart(right, chosen)});
}

// apart are the plugins whose weighted scores differ, and which of their rules do.
function apart(right, other) {
  return right.scores
    .map((score) => {
      const same = other.scores.find(({plugin}) => plugin === score.plugin);
      return {plugin: score.plugin, points: score.weighted - (same?.weighted ?? 0), parts: partsApart(score, same)};
    })
    .filter((one) => one.points !== 0)
    .sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
}

function partsApart(score, other) {
  const key = (part) => `${part.rule}\0${part.topologyKey ?? ""}`;
  const theirs = new Map((other?.parts ?? []).map((part) => [key(part), part]));
  const mine = new Map((score.parts ?? []).map((part) => [key(part), part]));
  return [...new Set([...mine.keys(), ...theirs.keys()])]
    .map((one) => {
      const [part, their] = [mine.get(one), theirs.get(one)];
      return {
        rule: (part ?? their).rule,
        topologyKey: (part ?? their).topologyKey,
        domain: part?.domain,
        otherDomain: their?.domain,
        raw: (part?.score ?? 0) - (their?.score ?? 0),
      };
    })
    .filter((part) => part.raw !== 0);
}

const refusers = ({pod}) => (pod.cycle.refusals ?? []).map(({plugin, message}) => ({plugin, message}));

// whyNone says why a pod stays Pending: no node takes it, or the scheduler cannot tell or does not try.
function whyNone({pod}) {
  if (pod.reason || pod.untried) return waitsOf(pod).join("; ");
  const refusals = (pod.cycle.refusals ?? []).map(({message, count}) => `${count} ${message}`).join(", ");
  return `No node takes it: ${refusals || waitsOf(pod).join("; ")}`;
}

export function score(judged) {
  const of = (outcome) => judged.filter((one) => one.outcome === outcome).length;
  const asked = judged.length,
    right = of("right"),
    ties = of("tie"),
    wrong = of("wrong");
  const behind = judged.reduce((sum, one) => sum + one.behind, 0);
  const words =
    asked === 0
      ? "nothing predicted yet"
      : `${right} of ${asked} right${ties > 0 ? `, ${ties} as good` : ""}${wrong > 0 ? `, ${wrong} wrong` : ""}`;
  return {asked, right, ties, wrong, behind, share: asked === 0 ? 0 : (right + ties) / asked, words};
}

const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;
const points = (n) => count(n, "point", "points");
