// Why single pods are where they are, and what would have changed that.

function explainPart() {
  if (!explain) return null;
  const all = h("div", {class: "explanations"});
  many(all, explain.pods, 10, (some) => all.append(...some.map(explanation)));
  return section("explain", "Why these pods are where they are", all);
}

function explanation(pod) {
  const mark = marks.get(workloadOf(pod));
  return h("details", {class: "card explanation", open: pod === explain.pods[0]},
    h("summary", {}, mark && chip(mark), h("b", {}, qualified(pod.namespace, pod.name)), pod.node ? [" → ", h("b", {}, pod.node)] : [" ", h("span", {class: "state warn"}, "Pending")],
      h("small", {}, steps.some((step) => step.name === pod.step) ? ["in step ", stepLink(pod.step)] : `in step ${pod.step}`)),
    pod.message && h("p", {class: "message"}, pod.message),
    pod.story?.length > 0 && h("ol", {class: "story"}, pod.story.map((sentence) => h("li", {}, sentence))),
    pod.asked?.length > 0 && h("ul", {class: "asked"}, pod.asked.map((node) => h("li", {}, h("b", {}, `Why not ${node.node}? `), node.why))),
    fixesOf(pod), flipsOf(pod), effectsOf(pod),
    pod.notes?.length > 0 && h("ul", {}, pod.notes.map((note) => h("li", {}, note))),
    pod.cycle && h("div", {}, h("h4", {}, "The scheduling cycle"), cycleOf(pod.cycle)));
}

function fixesOf(pod) {
  if (!pod.fixes?.length && !pod.tried?.length) return null;
  return h("div", {}, h("h4", {}, "What would place it"),
    pod.fixes?.length > 0 ? table("Changes that place the pod", ["Single change, verified", {text: "Pending then", number: true}], pod.fixes.map((fix) => [fix.change, number(fix.pending)]))
      : h("p", {}, "No single change that was tried places it."),
    pod.tried?.length > 0 && h("details", {}, h("summary", {}, `Tried without success (${pod.tried.length})`), h("ul", {}, pod.tried.map((change) => h("li", {}, change)))));
}

function flipsOf(pod) {
  if (!pod.flips?.length) return null;
  return h("div", {}, h("h4", {}, "With how little it would have gone elsewhere"), table("Flip points", ["What changes", "As it is", "Would have to be", "The pod then goes to", "Looked at"],
    pod.flips.map((flip) => [[h("small", {class: "of"}, flip.of), " ", flip.subject], flip.from, flip.to || "none of those", flip.to ? flip.node || "no node" : "–", flip.searched])));
}

function effectsOf(pod) {
  if (!pod.effects?.length) return null;
  return h("div", {}, h("h4", {}, "What each rule changes"), table("Effects of rules", ["Rule", "What it does", "Who is elsewhere without it", {text: "Pending with", number: true}, {text: "without", number: true}],
    pod.effects.map((effect) => [[effect.rule, h("small", {class: "source"}, effect.path)], effect.words,
      effect.moved?.length > 0 ? h("ul", {}, effect.moved.slice(0, 6).map((move) => h("li", {}, `${move.pod}: ${move.from || "no node"} → ${move.to || "no node"}`)), effect.moved.length > 6 && h("li", {}, `and ${effect.moved.length - 6} more`)) : "nobody",
      number(effect.pending), number(effect.pendingWithout)])));
}
