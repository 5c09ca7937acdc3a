// Light and dark.

import {redrawCells} from "./cells.js";
import {h} from "./dom.js";
import {inLanguage} from "./language.js";

export function themeButton() {
  const dark = () =>
    (document.documentElement.dataset.theme ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", {
    type: "button",
    id: "theme",
    click: () => {
      document.documentElement.dataset.theme = dark() ? "light" : "dark";
      label();
      redrawCells();
    },
  });
  const label = () => {
    button.setAttribute("aria-pressed", String(dark()));
    button.textContent = inLanguage(dark() ? "☀ Light" : "☾ Dark");
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    label();
    redrawCells();
  });
  label();
  return button;
}
