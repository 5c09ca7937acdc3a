// Explain: why a pod is where it is, in a dialog over the page.

import {steps} from "#shared/data.js";
import {fill, h, waiting} from "#shared/dom.js";
import {explanation} from "#shared/explain.js";
import {scoresOf} from "#shared/scores.js";
import {view} from "#shared/view.js";
import {mustWait} from "#shared/waits.js";
import {state} from "./state.js";
import {canWalk, startWalk} from "./walking.js";

// explaining opens the dialog for whatever on the page names a pod.
export function explaining(call) {
  document.addEventListener(
    "click",
    (event) => {
      const of = /** @type {Element} */ (event.target).closest("[data-pod]");
      if (!of || document.body.classList.contains("predicting")) return;
      event.preventDefault();
      event.stopPropagation();
      const name = of.getAttribute("data-pod"),
        slash = name.indexOf("/");
      explain(call, name.slice(0, slash), name.slice(slash + 1));
    },
    {capture: true},
  );
}

async function explain(call, namespace, name) {
  const step = steps[view.step],
    pod = step.pods.find((one) => one.namespace === namespace && one.name === name);
  const asking = new AbortController();
  const body = h("div", {class: "dialogbody"});
  const close = h(
    "button",
    {type: "button", class: "restore", click: () => dialog.close()},
    "Close",
    h("kbd", {}, "Esc"),
  );
  const dialog = h(
    "dialog",
    {
      class: "explain",
      "aria-label": `Why ${name} is where it is`,
      close: () => {
        asking.abort();
        dialog.remove();
      },
      click: (event) => {
        if (event.target === dialog) dialog.close();
      },
    },
    h(
      "div",
      {class: "panelhead"},
      h("h2", {}, name, pod?.node ? [" → ", pod.node] : h("span", {class: "warn"}, " Pending")),
      close,
    ),
    body,
  );
  const draw = (...children) => {
    body.replaceChildren();
    fill(body, {}, children);
  };
  draw(
    pod && mustWait(pod) && waiting(pod),
    pod?.decision?.scores?.length > 0 && scoresOf(pod.decision),
    h("p", {class: "hint"}, "The engine tries what would have changed it …"),
  );
  document.body.append(dialog);
  dialog.showModal();
  const placed =
    state.report.steps
      .slice(0, view.step + 1)
      .findLast((one) =>
        one.pods?.some((other) => other.namespace === namespace && other.name === name && other.decision),
      ) ?? step;
  try {
    const {explain: found, problems} = await call(
      "explain",
      {input: state.input, step: (pod?.node ? placed : step).name, namespace, pod: name},
      asking.signal,
    );
    draw(
      problems
        ? problems.map((problem) => h("p", {class: "bad"}, problem.message))
        : found.pods.map((one) =>
            explanation(
              one,
              true,
              walkButton(one, () => dialog.close()),
            ),
          ),
    );
  } catch (error) {
    if (error.name !== "AbortError") draw(h("p", {class: "bad"}, error.message));
  }
}

const walkButton = (pod, close) =>
  canWalk(pod.cycle) &&
  h(
    "p",
    {},
    h(
      "button",
      {
        type: "button",
        class: "button",
        click: () => {
          close();
          startWalk(pod);
        },
      },
      "Step through on the map: filter → score → bind",
    ),
  );
