// Words and figures.

export const HOSTNAME = "kubernetes.io/hostname";

export const number = (n) => n.toLocaleString("en");
export const count = (n, one, many = one + "s") => number(n) + " " + (n === 1 ? one : many);

// percent never rounds something to nothing, nor what is not everything to everything.
export function percent(share) {
  if (share > 0 && share < 0.01) return "<1%";
  if (share > 0.99 && share < 1) return ">99%";
  return Math.round(100 * share) + "%";
}

// figure is a number with three digits that mean something.
export const figure = (n) => String(Number(n.toPrecision(3)));

export const listed = (words) =>
  words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words.at(-1);

// noun is what a failure domain of the level is called.
export function noun(key) {
  switch (key) {
    case "topology.kubernetes.io/region":
      return "region";
    case "topology.kubernetes.io/zone":
      return "zone";
    case HOSTNAME:
      return "node";
  }
  return key.slice(key.lastIndexOf("/") + 1);
}

// firsts names the first ones and counts the others.
export const firsts = (names, most) =>
  names.length <= most + 1
    ? names.join(", ")
    : `${names.slice(0, most).join(", ")} and ${number(names.length - most)} more`;

// titleOf is the noun as a title begins with it.
export const titleOf = (key) => noun(key)[0].toUpperCase() + noun(key).slice(1);
