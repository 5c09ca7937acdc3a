// The page: the steps' tabs, the step in view, and what is selected in it.

// view is what the reader chose: a step, domains of one level that fail, a workload shown alone, what was
// searched for, groups whose nodes are listed.
const view = {step: 0, failed: null, marked: null, found: null, open: new Set()};

function tabs() {
  const list = h("div", {class: "tabs", hidden: steps.length === 1, role: "tablist", "aria-label": "Steps", keydown: (event) => {
    const to = {ArrowRight: view.step + 1, ArrowLeft: view.step - 1, Home: 0, End: steps.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    show((to + steps.length) % steps.length);
    document.getElementById("tab-" + view.step).focus();
  }}, steps.map((step, i) => {
    const expectations = step.expectations ?? [], failed = expectations.filter((expectation) => !expectation.met).length;
    return h("button", {type: "button", role: "tab", id: "tab-" + i, "aria-controls": "step", title: step.action, click: () => show(i)},
      h("span", {class: "at"}, h("span", {}, String(i + 1)), expectations.length > 0 && h("span", {class: failed > 0 ? "sign bad" : "sign good"}, failed > 0 ? `✕ ${failed} not met` : `✓ ${expectations.length} met`)),
      h("b", {title: step.name}, step.name),
      h("span", {class: "doing"}, step.action),
      h("span", {class: "run"}, h("span", {}, `${number(step.summary.running)} running`), step.summary.pending > 0 && h("span", {class: "warn"}, `${number(step.summary.pending)} Pending`),
        step.summary.notCreated > 0 && h("span", {class: "warn"}, `${number(step.summary.notCreated)} refused`),
        step.summary.notReady > 0 && h("span", {class: "bad"}, `${number(step.summary.notReady)} on lost nodes`),
        unscheduled(step).length > 0 && h("span", {class: "warn"}, `${number(unscheduled(step).length)} without a cluster`)),
      i > 0 && h("span", {class: "change"}, changeWords(changesOf(i)).join(", ") || "nothing moved"));
  }));
  return list;
}

// show brings a step into view, with nothing failed.
function show(i, failed = null) {
  Object.assign(view, {step: i, failed, found: null});
  document.querySelectorAll("[role=tab]").forEach((tab, at) => {
    tab.setAttribute("aria-selected", String(at === i));
    tab.tabIndex = at === i ? 0 : -1;
    if (at === i) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
  });
  document.querySelectorAll("tr[data-step]").forEach((row) => row.classList.toggle("chosen", row.dataset.step === steps[i].name));
  drawStep();
  remember();
}

function drawStep() {
  const step = steps[view.step];
  const panel = document.getElementById("step");
  panel.setAttribute("aria-labelledby", "tab-" + view.step);
  panel.replaceChildren(h("div", {class: "stephead"}, stepHead(step, view.step)),
    h("section", {"aria-labelledby": "title-map"}, h("h3", {id: "title-map", class: "hidden"}, "Where the pods are"),
      h("div", {class: "stage"}, h("div", {id: "map"}), h("aside", {id: "panel", "aria-label": "Failure"}))),
    h("div", {class: "told"}, toldOf(step, view.step)),
    ...[bindingsPart(step), pendingPart(step), workloadsPart(step), radiusPart(step), nodesPart(step), podsPart(step)].filter(Boolean));
  drawMap();
}

// drawMap draws what depends on the failure and on the workload in view.
function drawMap() {
  point("");
  drawn.clear();
  widths.disconnect();
  const step = steps[view.step];
  document.getElementById("map").replaceChildren(...[trayOf(step), mapOf(step), legendOf(step)].filter(Boolean));
  measureCells();
  document.getElementById("panel").replaceChildren();
  fill(document.getElementById("panel"), {}, [panelOf(step)]);
}

// select fails a domain, or restores it when it is the one that failed; further ones of the level are added to it.
function select(key, domain, further) {
  const before = view.failed?.key === key ? view.failed.domains : [];
  const without = before.filter((other) => other !== domain);
  fail(key, further ? (without.length < before.length ? without : [...before, domain]) : (before.length === 1 && without.length === 0 ? [] : [domain]));
}

function fail(key, domains) {
  Object.assign(view, {failed: domains.length > 0 ? {key, domains} : null, found: null, marked: view.found?.workload ? null : view.marked});
  keepingFocus(drawMap);
  remember();
  if (!view.failed) return say("Restored.");
  const step = steps[view.step];
  const {recovery} = recoveryOf(step, key, failureOf(step, key, domains));
  say(`${noun(key)} ${listed(domains)} failed: ${count(lossOf(step, failing(step, key, domains)).pods, "pod")} lost` + (recovery
    ? `, ${recovery.recovered?.length ?? 0} recovered, ${recovery.stranded?.length ?? 0} stranded, ${recovery.notReplaced?.length ?? 0} not replaced.` : "."));
}

const restore = () => fail("", []);

// The address keeps the step and the failure, so that it can be passed on.
function remember() {
  const address = new URLSearchParams({step: steps[view.step].name});
  if (view.failed) for (const domain of view.failed.domains) address.append("fail", view.failed.key + "=" + domain);
  history.replaceState(null, "", "#" + address);
}

function recall() {
  const address = new URLSearchParams(location.hash.slice(1));
  const i = Math.max(0, steps.findIndex((step) => step.name === address.get("step")));
  const failed = address.getAll("fail").map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]);
  const known = failed.filter(([key, domain]) => key === failed[0][0] && nodesOf[i].some((node) => domainOf(node, key) === domain));
  show(i, known.length > 0 ? {key: known[0][0], domains: known.map(([, domain]) => domain)} : null);
}

function themeButton() {
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", {type: "button", id: "theme", click: () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
    redrawCells();
  }});
  const label = () => {
    button.setAttribute("aria-pressed", String(dark()));
    button.textContent = dark() ? "☀ Light" : "☾ Dark";
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { label(); redrawCells(); });
  label();
  return button;
}

fill(document.getElementById("tools"), {}, [steps.length > 0 && searchField(), themeButton()]);
fill(document.getElementById("report"), {}, [
  steps.length > 0 && h("section", {id: "steps", "aria-label": "Steps"}, tabs(), h("div", {id: "step", role: "tabpanel", tabindex: "-1"})),
  radiusOverSteps(),
  explainPart(),
]);
if (steps.length > 0) {
  recall();
  addEventListener("hashchange", () => { if (location.hash.startsWith("#step=")) recall(); });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (view.failed || view.found)) restore();
    if (event.key === "/" && !event.target.closest("input")) {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });
}
