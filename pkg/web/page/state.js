// What the page is about: a scenario as text, and what the engine said of it.

export const state = {
  version: "",
  scheduler: "",
  schema: null,
  examples: [],
  input: {main: "scenario.yaml", files: {"scenario.yaml": ""}},
  example: "", // what the input came from
  file: "scenario.yaml", // the one in the editor
  report: null, // the last answer
  before: null, // the answer before it
  problems: [],
};

// sameInput reports whether two inputs are equal.
export const sameInput = (a, b) =>
  a.main === b.main &&
  Object.keys(a.files).length === Object.keys(b.files).length &&
  Object.entries(a.files).every(([file, text]) => b.files[file] === text);
