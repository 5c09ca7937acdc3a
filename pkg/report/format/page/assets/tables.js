// The tables of a step: what was done and expected, workloads, Pending pods, and all pods with how their nodes were chosen.

function stepHead(step, i) {
  const s = step.summary;
  const figures = [["Pods", s.pods], ["Running", s.running], ["Pending", s.pending, "warn"], ["On lost nodes", s.notReady, "bad"], ["Placed in this step", s.placed], ["Preempted", s.preempted, "warn"]];
  const sentences = (title, texts, kind) => texts?.length && h("div", {class: "words " + (kind ?? "")}, h("h4", {}, title), h("ul", {}, texts.map((text) => h("li", {}, text))));
  return [
    h("p", {class: "eyebrow"}, `Step ${i + 1} of ${steps.length}`),
    h("h2", {id: "step-title"}, step.name),
    h("p", {class: "action"}, h("code", {}, step.action)),
    h("dl", {class: "figures"}, figures.filter(([, n], at) => n > 0 || at < 3).map(([text, n, kind]) => h("div", {class: n > 0 ? kind : ""}, h("dt", {}, text), h("dd", {}, number(n))))),
    h("div", {class: "told"},
      sentences("Why", step.why),
      expectationsOf(step),
      sentences("Notes", step.notes),
      sentences("Rollouts that do not come to their end", step.rollouts?.map((of) =>
        `${workloadTitle(of)}: ${of.updated} of ${of.desired} updated, ${of.old} old, ${of.ready} ready. ${of.waiting}` + (of.notCreated ? ` Not created: ${firsts(of.notCreated, 4)}.` : "")), "warn"),
      step.preempted?.length && h("div", {class: "words warn"}, h("h4", {}, `Preempted (${number(step.preempted.length)})`),
        growing(step.preempted, 6, (of) => h("li", {}, `${of.victim} made room on ${of.node} for ${of.for}`)))),
  ];
}

function expectationsOf(step) {
  const all = step.expectations ?? [];
  if (all.length === 0) return null;
  const met = all.filter((expectation) => expectation.met).length;
  return h("div", {class: "words expectations"}, h("h4", {}, `Expectations: ${met} of ${all.length} met`),
    table("Expectations", ["", "Expected", "Seen"], all.map((expectation) => h("tr", {class: expectation.met ? "met" : "failed"},
      h("td", {}, h("span", {class: "sign", "aria-label": expectation.met ? "met" : "not met", role: "img"}, expectation.met ? "✓" : "✕")),
      h("td", {}, expectation.want, expectation.source && h("small", {class: "source"}, `${expectation.source.file}:${expectation.source.line}`)),
      h("td", {class: "got"}, expectation.got, expectation.why && h("small", {}, expectation.why))))));
}

function workloadsPart(step) {
  const all = step.workloads ?? [];
  if (all.length === 0) return null;
  const keys = [...new Set(all.flatMap((workload) => (workload.domains ?? []).map((of) => of.topologyKey)))];
  return section("workloads", "Workloads", manyRows("Workloads",
    ["Name", {text: "Desired", number: true}, {text: "Running", number: true}, {text: "Pending", number: true}, ...keys.map((key) => "By " + noun(key))], all, 12,
    (workload) => h("tr", {}, h("td", {}, chip(marks.get(workload.namespace + "/" + workload.kind.toLowerCase() + "/" + workload.name) ?? marks.get(workload.namespace + "/pod") ?? unknown), workloadTitle(workload),
      workload.notCreated && h("small", {}, `not created: ${firsts(workload.notCreated, 3)}`),
      workload.source && h("small", {class: "source"}, `${workload.source.file}:${workload.source.line}`)),
    [workload.desired, workload.running].map((n) => h("td", {class: "number"}, number(n))), h("td", {class: "number" + (workload.pending > 0 ? " warn" : "")}, number(workload.pending)),
    keys.map((key) => h("td", {}, distribution(workload.domains?.find((of) => of.topologyKey === key)))))));
}

// distribution is a small bar chart: a bar for each domain, or where there are many for each number of pods that domains have.
function distribution(of) {
  const named = 12;
  if (!of || of.counts.length + (of.unlabelled ?? 0) === 0) return "–";
  const one = noun(of.topologyKey), domains = of.counts.length + of.empty;
  let bars = of.counts.map((domain) => [domain.domain, domain.pods]);
  if (of.empty > 0) bars.push([count(of.empty, one) + " empty", 0]);
  let most = Math.max(...bars.map(([, n]) => n));
  let caption = `skew ${number(of.skew)}`;
  if (bars.length > named) {
    const sizes = new Map(of.empty > 0 ? [[0, of.empty]] : []);
    for (const domain of of.counts) sizes.set(domain.pods, (sizes.get(domain.pods) ?? 0) + 1);
    bars = [...sizes].sort((a, b) => a[0] - b[0]).slice(0, named).map(([pods, n]) => [`${count(pods, "pod")} in`, n]);
    most = Math.max(...bars.map(([, n]) => n));
    caption = `${count(domains, one)}; ${caption}` + (sizes.size > named ? `; ${sizes.size - named} more counts` : "");
  }
  if (of.unlabelled > 0) caption += `; ${count(of.unlabelled, "pod")} on nodes without the label`;
  return h("div", {class: "distribution"}, bars.map(([text, n]) => h("div", {}, h("span", {class: "of"}, text), bar(most > 0 ? n / most : 0, number(n)))), h("small", {}, caption));
}

function pendingPart(step) {
  const pending = (step.pods ?? []).filter((pod) => !pod.node);
  if (pending.length === 0) return null;
  const groups = groupBy(pending, (pod) => JSON.stringify([workloadOf(pod), pod.message, pod.nominated]));
  return section("pending", `Pending pods (${number(pending.length)})`, manyRows("Pending pods", ["Pods", "kube-scheduler says", "Nodes by reason"], groups, 20, (pods) => {
    const [first] = pods;
    const of = Math.max(1, ...(first.reasons ?? []).map((reason) => reason.nodes));
    return h("tr", {}, h("td", {}, chip(marks.get(workloadOf(first))), h("b", {}, pods.length === 1 ? qualified(first.namespace, first.name) : `${count(pods.length, "pod")} of ${marks.get(workloadOf(first)).title}`),
      pods.length > 1 && h("small", {}, firsts(pods.map((pod) => pod.name), 3)), first.nominated && h("small", {}, `nominated to ${first.nominated}, where preemption makes room`)),
    h("td", {class: "message"}, first.message || "no message"),
    h("td", {}, h("div", {class: "distribution"}, (first.reasons ?? []).map((reason) => h("div", {}, h("span", {class: "of"}, h("b", {}, reason.plugin), " ", reason.message), bar(reason.nodes / of, number(reason.nodes), "warn"))))));
  }));
}

// podsPart lists every pod with its node and how that was chosen.
function podsPart(step) {
  const all = step.pods ?? [];
  if (all.length === 0) return null;
  const keys = (step.topologyKeys ?? []).filter((key) => key !== HOSTNAME);
  const heads = ["Pod", "Status", "Node", ...keys.map((key) => noun(key)[0].toUpperCase() + noun(key).slice(1)), {text: "Feasible", number: true}, {text: "Equal best", number: true}, {text: "Margin", number: true}, "Decided by", ""];
  const holder = h("div", {});
  const draw = (wanted) => {
    const found = wanted ? all.filter((pod) => `${pod.namespace}/${pod.name} ${pod.node ?? ""} ${pod.status} ${pod.workload ?? ""}`.toLowerCase().includes(wanted)) : all;
    holder.replaceChildren(found.length === 0 ? h("p", {class: "hint"}, "No pod has such a name, node or status.")
      : manyRows("Pods", heads, found, 15, (pod) => podRow(pod, keys, heads.length)));
  };
  draw("");
  return section("pods", `Pods and how their nodes were chosen (${number(all.length)})`,
    all.length > 10 && h("label", {class: "filter"}, "Filter", h("input", {type: "search", input: (event) => draw(event.target.value.trim().toLowerCase()), autocomplete: "off", spellcheck: "false"})), holder);
}

function podRow(pod, keys, columns) {
  const d = pod.decision;
  const details = pod.cycle || d?.scores?.length > 0;
  const below = details && h("tr", {class: "below", hidden: true}, h("td", {colspan: columns}));
  const toggle = details && h("button", {
    type: "button", class: "scores", "aria-expanded": "false", "aria-label": `Scores of ${pod.name}`,
    click: () => {
      const open = below.hidden;
      below.hidden = !open;
      toggle.setAttribute("aria-expanded", String(open));
      if (open && below.firstChild.childElementCount === 0) below.firstChild.append(pod.cycle ? cycleOf(pod.cycle) : scoresOf(d));
    },
  }, "Scores");
  const figures = d ? [number(d.feasible), d.scored > 0 ? number(d.ties) : "–", d.scored > 0 && d.runnerUp ? number(d.margin) : "–"] : ["–", "–", "–"];
  const why = !d ? (pod.node ? "before this step" : "–") : d.scored === 0 ? "the only feasible node" : d.deciders?.length ? d.deciders.join(", ") : d.ties > 1 ? "equal nodes" : "–";
  return [h("tr", {class: pod.node ? "" : "pending"}, h("td", {}, chip(marks.get(workloadOf(pod))), qualified(pod.namespace, pod.name)),
    h("td", {class: pod.status === "Running" ? "" : "warn"}, pod.status), h("td", {}, pod.node || "–"), keys.map((key) => h("td", {}, pod.topology?.[key] ?? "–")),
    figures.map((text) => h("td", {class: "number"}, text)), h("td", {}, why), h("td", {}, toggle || null)), below || []];
}
