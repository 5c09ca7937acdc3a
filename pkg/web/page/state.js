// What the page is about: a scenario as text, and what the engine said of it.

export const state = {
  version: "",
  scheduler: "",
  schema: null,
  class: false, // the server counts the answers to questions
  /** @type {any[]} */
  examples: [],
  input: {main: "scenario.yaml", files: {"scenario.yaml": ""}},
  example: "", // what the input came from
  first: null, // the input as it came, before the reader changed it
  file: "scenario.yaml", // the one in the editor
  report: null, // the last answer
  before: null, // the answer before it
  start: null, // the answer of a challenge as it came
  solution: null, // the text of its solution, once the reader asked for it
  quiz: null, // the questions of each step, null while they are not known
  problems: [],
};

// sameInput reports whether two inputs are equal.
export const sameInput = (a, b) =>
  a.main === b.main &&
  Object.keys(a.files).length === Object.keys(b.files).length &&
  Object.entries(a.files).every(([file, text]) => b.files[file] === text);

// exampleOf is what is known of the example that the input came from.
/** @returns {{name?: string, title?: string, lesson?: boolean, challenge?: boolean}} */
export const exampleOf = () => state.examples.find(({name}) => name === state.example) ?? {};

// isChanged tells of an input that is not as it came.
export const isChanged = () => state.first !== null && !sameInput(state.first, state.input);
