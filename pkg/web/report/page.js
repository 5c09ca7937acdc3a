// The report's page.

import {domainOf, groupKeys, load, nodesOf, steps, unpack} from "#shared/data.js";
import {fill, h, podKey} from "#shared/dom.js";
import {explainPart} from "#shared/explain.js";
import {radiusOverSteps, radiusPart} from "#shared/failure.js";
import {searchField} from "#shared/search.js";
import {drawMap} from "#shared/stage.js";
import {tabs} from "#shared/steps.js";
import {
  bindingsPart,
  nodesPart,
  pendingPart,
  podsPart,
  startingPart,
  stepHead,
  toldOf,
  whyOf,
  workloadsPart,
} from "#shared/tables.js";
import {themeButton} from "#shared/theme.js";
import {find, restore, show, surround, view} from "#shared/view.js";

function drawStep() {
  const step = steps[view.step];
  const panel = document.getElementById("step");
  panel.setAttribute("aria-labelledby", "tab-" + view.step);
  panel.replaceChildren(
    h("div", {class: "stephead"}, stepHead(step, view.step)),
    step.description ? h("p", {class: "hint"}, step.description) : "",
    h(
      "section",
      {"aria-labelledby": "title-map"},
      h("h3", {id: "title-map", class: "hidden"}, "Where the pods are"),
      h("div", {class: "stage"}, h("div", {id: "map"}), h("aside", {id: "panel", "aria-label": "Failure"})),
    ),
    h("div", {class: "told"}, whyOf(step), toldOf(step, view.step)),
    ...[
      bindingsPart(step),
      pendingPart(step),
      startingPart(step),
      workloadsPart(step),
      radiusPart(step),
      nodesPart(step),
      podsPart(step),
    ].filter(Boolean),
  );
  drawMap();
}

// The address keeps the step and the failure, so that it can be passed on.
function remember() {
  const address = new URLSearchParams({step: steps[view.step].name});
  if (view.failed) for (const domain of view.failed.domains) address.append("fail", view.failed.key + "=" + domain);
  for (const key of view.by) address.append("by", key);
  history.replaceState(null, "", "#" + address);
}

function recall() {
  const address = new URLSearchParams(location.hash.slice(1));
  const i = Math.max(
    0,
    steps.findIndex((step) => step.name === address.get("step")),
  );
  const failed = address
    .getAll("fail")
    .map((text) => [text.slice(0, text.indexOf("=")), text.slice(text.indexOf("=") + 1)]);
  view.by = address.getAll("by").filter((key) => groupKeys.includes(key));
  const known = failed.filter(
    ([key, domain]) => key === failed[0][0] && nodesOf[i].some((node) => domainOf(node, key) === domain),
  );
  show(i, known.length > 0 ? {key: known[0][0], domains: known.map(([, domain]) => domain)} : null);
}

load(unpack(JSON.parse(document.getElementById("data").textContent)));
surround({drawStep, drawMap, chosen: remember});
fill(document.getElementById("tools"), {}, [steps.length > 0 && searchField(), themeButton()]);
fill(document.getElementById("report"), {}, [
  steps.length > 0 &&
    h(
      "section",
      {id: "steps", "aria-label": "Steps"},
      tabs(),
      h("div", {id: "step", role: "tabpanel", tabindex: "-1"}),
    ),
  radiusOverSteps(),
  explainPart(),
]);
if (steps.length > 0) {
  recall();
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#step=")) recall();
  });
  document.addEventListener(
    "click",
    (event) => {
      const key = /** @type {Element} */ (event.target).closest("#map [data-pod]")?.getAttribute("data-pod");
      const pod = key && steps[view.step].pods.find((pod) => podKey(pod) === key);
      if (!pod) return;
      event.stopPropagation(); // the node around it would fail
      find({pod, node: pod.node});
    },
    true,
  );
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (view.failed || view.found)) restore();
    if (event.key === "/" && !(/** @type {Element} */ (event.target).closest("input"))) {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });
}

// What the page is made of, for its tests and for a reader's console.
export * from "#shared/data.js";
export {lossOf} from "#shared/losses.js";
