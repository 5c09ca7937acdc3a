// Buttons that bring something else of the page into view.

import {steps} from "./data.js";
import {h} from "./dom.js";
import {fail, show} from "./view.js";
import {noun} from "./words.js";

// failButton fails domains from anywhere on the page.
export const failButton = (step, key, domains, text = `${noun(key)} ${domains.join(" + ")}`) =>
  h(
    "button",
    {
      type: "button",
      class: "fail",
      click: () => {
        fail(key, domains);
        document.getElementById("panel").scrollIntoView({block: "nearest"});
      },
    },
    text,
  );

// stepLink brings a step into view from anywhere on the page.
export const stepLink = (name) =>
  h(
    "button",
    {
      type: "button",
      class: "link",
      click: () => {
        const i = steps.findIndex((step) => step.name === name);
        if (i >= 0) show(i);
        document.getElementById("steps").scrollIntoView();
      },
    },
    name,
  );
