// What changed between two answers: the same step of two reports.
//
//   changesSince(before, after, step) → {changes, words, placed, newlyPending, noLongerPending}
//       before and after are reports; undefined where one of them has no such step
//       changes: by workload, as the map and the steps have it (changesBetween in the report's data.js), and the same
//       in words
//       placed: Set of "namespace/name", the pods of the later answer that account for more pods of a workload on a
//       node
//       newlyPending, noLongerPending: [{key, count, message}], by workload, with kube-scheduler's message for the
//       first such pod
//
// Pods have other names in another run, so that they are told apart only by workload and node.

import {changesBetween, changeWords, workloadOf} from "#shared/data.js";

export function changesSince(before, after, step) {
  const [was, is] = [before, after].map((report) => report?.steps.find((one) => one.name === step));
  if (!was || !is) return undefined;
  const changes = changesBetween(was, is);
  const waiting = (of, sign) =>
    changes
      .filter(({pending}) => pending * sign > 0)
      .map(({key, pending}) => ({
        key,
        count: pending * sign,
        message: (of.pods ?? []).find((pod) => !pod.node && workloadOf(pod) === key)?.message ?? "",
      }));
  return {
    changes,
    words: changeWords(changes),
    placed: placed(was, is, changes),
    newlyPending: waiting(is, 1),
    noLongerPending: waiting(was, -1),
  };
}

// placed takes, on each node that has more pods of a workload, those that the earlier answer did not have there by
// name, and of the others the last.
function placed(was, is, changes) {
  const on = (pod) => `${pod.namespace}/${pod.name} ${pod.node}`;
  const had = new Set((was.pods ?? []).map(on)),
    found = new Set();
  for (const change of changes) {
    for (const [node, more] of change.on) {
      const pods = (is.pods ?? []).filter(
        (pod) => pod.node === node && workloadOf(pod) === change.key && pod.status !== "Terminating",
      );
      const fresh = [...pods.filter((pod) => had.has(on(pod))), ...pods.filter((pod) => !had.has(on(pod)))];
      for (const pod of fresh.slice(-more)) found.add(`${pod.namespace}/${pod.name}`);
    }
  }
  return found;
}
