// The opening page: the lessons with how far the reader is, the challenges, a scenario of one's own, and all others.

import {fill, h} from "#shared/dom.js";
import {count} from "#shared/words.js";
import {OWN} from "./builder.js";
import {blocks, element} from "./lesson.js";
import {fragmentOf, GIVEN} from "./link.js";
import {progressOf} from "./predicting.js";
import {state} from "./state.js";

const EMPTY = "empty"; // the example that a reader begins an own scenario with

// drawHome draws it; given tells that the page came with a scenario, back goes to the one that is open behind it, and open
// takes one from files.
export function drawHome({given, back, open}) {
  const lessons = state.examples.filter(({lesson}) => lesson),
    challenges = state.examples.filter(({challenge}) => challenge),
    others = state.examples.filter(
      ({name, lesson, challenge}) => !lesson && !challenge && name !== EMPTY && name !== OWN,
    );
  const home = document.getElementById("home");
  home.replaceChildren();
  fill(home, {}, [
    h(
      "div",
      {class: "opening"},
      h("h2", {tabindex: "-1"}, "Where does the scheduler put a pod, and why?"),
      h(
        "p",
        {class: "hint"},
        "Predict, then look. Each answer comes from the plugins of the real kube-scheduler. Click a node, and it fails.",
      ),
      back && h("button", {type: "button", class: "button", click: back.go}, `Back to ${back.title}`),
    ),
    part("Lessons", lessons.map(lessonCard)),
    part("Challenges", challenges.map(card(""))),
    part("Your own scenario", [
      given && cardTo(GIVEN, "", "Your scenario", about("The one with which this page began.")),
      cardTo(
        fragmentOf(EMPTY),
        "",
        given ? "An empty scenario" : "Begin with an empty one",
        about("One node and one pod, as text. Change them by the levers, or write."),
      ),
      cardTo(
        fragmentOf(OWN),
        "",
        "Make a lesson",
        about(
          "A form for a cluster, a workload, its rule, and questions, which the run answers. A link takes it to the class.",
        ),
      ),
      opener(open),
    ]),
    others.length > 0 &&
      h(
        "details",
        {class: "others"},
        h("summary", {}, `More scenarios: ${others.length}`),
        h(
          "ul",
          {},
          others.map(({name, title, description}) =>
            h("li", {}, h("a", {href: fragmentOf(name)}, title), " ", h("small", {}, description)),
          ),
        ),
      ),
  ]);
}

const part = (title, cards) =>
  cards.some(Boolean) && [
    h("h3", {}, title),
    h(
      "ul",
      {class: "cards"},
      cards.map((one) => one && h("li", {}, one)),
    ),
  ];

const cardTo = (href, over, title, ...children) =>
  h("a", {class: "card", href}, over && h("small", {}, over), h("b", {}, title), children);

// opener opens a scenario from files of the reader's machine.
const opener = (open) =>
  h(
    "label",
    {class: "card"},
    h("b", {}, "Open a file"),
    about("A lesson or another scenario that you have as YAML, with the files that it names."),
    h("input", {
      type: "file",
      multiple: true,
      accept: ".yaml,.yml,.json",
      change: async ({target}) => {
        const texts = await Promise.all([...target.files].map(async (file) => [file.name, await file.text()]));
        const [main] = texts.find(([, text]) => /^kind: *["']?Scenario\b/m.test(text)) ?? texts[0] ?? [];
        if (main) open({main, files: Object.fromEntries(texts)});
      },
    }),
  );

const about = (...text) => h("div", {class: "about"}, text);

const card = (over) => (example, i) =>
  cardTo(
    fragmentOf(example.name),
    over && `${over} ${i + 1}`,
    example.title,
    about(...blocks(example.description).map((block) => element(block))),
  );

// lessonCard is a card with the minutes that the lesson takes, or with the progress of who has begun it.
function lessonCard(example, i) {
  const {steps: done, asked, right} = progressOf(example.name),
    steps = example.steps;
  const words =
    done === 0
      ? `${example.minutes} min, ${count(steps, "step")}`
      : done >= steps
        ? `✓ done, ${right} of ${count(asked, "answer")} right`
        : `${done} of ${count(steps, "step")} done`;
  const made = card("Lesson")(example, i);
  return fill(made, {}, [
    h(
      "span",
      {class: "done" + (done >= steps ? " good" : "")},
      words,
      done > 0 && h("span", {class: "track", style: {"--share": Math.min(1, done / steps)}, "aria-hidden": "true"}),
    ),
  ]);
}
