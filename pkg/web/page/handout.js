// A lesson on paper: its text, the cluster as a map, what it asks with room for answers, and an answer sheet at the end.

import {load, steps} from "#shared/data.js";
import {fill, h} from "#shared/dom.js";
import {mapOf} from "#shared/map.js";
import {element, lesson} from "./lesson.js";
import {inWords, reasonOf} from "./quiz.js";
import {state} from "./state.js";

// handout draws the lesson for paper when the page is printed, if it is one.
export function handingOut() {
  addEventListener("beforeprint", () => {
    const read = state.report && lesson(state.input.files[state.input.main] ?? "", state.report);
    if (!read?.steps.some((step) => step.text.length > 0)) return;
    document.body.classList.add("handingout");
    fill(document.getElementById("handout"), {}, sheets(read));
  });
  addEventListener("afterprint", () => {
    document.body.classList.remove("handingout");
    document.getElementById("handout").replaceChildren();
  });
}

function sheets(read) {
  const questions = new Map((state.quiz ?? []).map(({step, questions}) => [step, questions ?? []]));
  return [
    h("h1", {}, read.title),
    read.intro.map((block) => element(block)),
    emptyMap(),
    read.steps.map((step, i) =>
      h(
        "section",
        {},
        h("h2", {}, `${i + 1}. ${step.name}`),
        step.text.map((block) => element(block)),
        (questions.get(step.name) ?? []).map(asked),
      ),
    ),
    h(
      "section",
      {class: "answers"},
      h("h1", {}, `Answers: ${read.title}`),
      read.steps.map((step, i) =>
        h(
          "section",
          {},
          h("h2", {}, `${i + 1}. ${step.name}`),
          h(
            "ul",
            {},
            (questions.get(step.name) ?? []).map((question) =>
              h(
                "li",
                {},
                h("b", {}, question.ask),
                " ",
                reasonOf(question).map((block) => element(block)),
                question.equal?.length > 0 &&
                  ` As right: ${question.equal.map((of) => inWords(question, of)).join("; ")}.`,
              ),
            ),
          ),
        ),
      ),
    ),
  ];
}

// emptyMap is the cluster of the first step, without pods.
function emptyMap() {
  load({report: {...state.report, steps: [{...state.report.steps[0], pods: [], requested: undefined}]}, live: true});
  const map = mapOf(steps[0]);
  load({report: state.report, live: true});
  return map;
}

// asked is a question with room for its answer.
function asked({ask, kind, fields}) {
  const choices = {holds: ["yes", "no"], message: [...(fields ?? []), "no pod is Pending"], notOn: fields}[kind];
  return h(
    "div",
    {class: "askedonpaper"},
    h("b", {}, ask),
    choices
      ? h(
          "ul",
          {},
          choices.map((choice) => h("li", {}, "☐ " + choice)),
        )
      : h(
          "p",
          {},
          (kind === "number" && fields?.length > 0 ? fields : [""]).map((field) => `${field} ………… `),
        ),
  );
}
