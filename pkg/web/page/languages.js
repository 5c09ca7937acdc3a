// The languages of the page: one file for each, with the words of the page and those of the lessons.
//
//   speakReadersLanguage() speaks the language that the reader chose, or else the first one of the browser's that there is
//   languageChoice() → the switch

import {fill, h} from "#shared/dom.js";
import {inLanguage, speak} from "#shared/language.js";
import de from "../languages/de.json" with {type: "json"};
import pt from "../languages/pt.json" with {type: "json"};

const LANGUAGES = {pt, de};
const ENGLISH = "en";
const KEY = "faultline language";

const isKnown = (code) => code === ENGLISH || Object.hasOwn(LANGUAGES, code);

function codeNow() {
  let chosen;
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    // A forbidden storage keeps no choice.
  }
  return [chosen, ...navigator.languages.map((tag) => tag.split("-")[0])].find(isKnown) ?? ENGLISH;
}

export function speakReadersLanguage() {
  const code = codeNow();
  document.documentElement.lang = code;
  if (code === ENGLISH) return;
  speak({...LANGUAGES[code].page, ...LANGUAGES[code].lessons});
  // What stands on the page already.
  for (const element of document.body.querySelectorAll("[aria-label]"))
    element.setAttribute("aria-label", inLanguage(element.getAttribute("aria-label")));
  for (const element of document.body.querySelectorAll(".skip, .hidden, .brand small"))
    fill(
      element,
      {},
      [element.textContent].map((text) => (element.replaceChildren(), text)),
    );
}

export const languageChoice = () =>
  h(
    "select",
    {
      id: "language",
      "aria-label": "Language",
      change: ({target}) => {
        localStorage.setItem(KEY, target.value);
        location.reload();
      },
    },
    [[ENGLISH, "English"], ...Object.entries(LANGUAGES).map(([code, {name}]) => [code, name])].map(([code, name]) =>
      h("option", {value: code, selected: code === codeNow(), lang: code}, name),
    ),
  );
