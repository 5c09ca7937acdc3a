// The map and the panel beside it.

import {forgetCells, measureCells} from "./cells.js";
import {steps} from "./data.js";
import {fill, point} from "./dom.js";
import {panelOf} from "./failure.js";
import {choicesOf, legendOf, mapOf, trayOf} from "./map.js";
import {view} from "./view.js";

// drawMap draws what depends on the failure and on the workload in view.
export function drawMap() {
  point("");
  forgetCells();
  const step = steps[view.step];
  document
    .getElementById("map")
    .replaceChildren(...[trayOf(step), choicesOf(step), mapOf(step), legendOf(step)].filter(Boolean));
  measureCells();
  const panel = document.getElementById("panel");
  panel.replaceChildren();
  fill(panel, {}, [panelOf(step)]);
}
