// The map as a PNG: its elements and their style in an SVG image, drawn on a canvas.

// pictureOf is the element as it looks, in twice its size.
export async function pictureOf(element) {
  const {width, height} = element.getBoundingClientRect(),
    margin = 16,
    scale = 2;
  const copy = element.cloneNode(true);
  const canvases = [...element.querySelectorAll("canvas")];
  copy.querySelectorAll("canvas").forEach((canvas, i) => {
    const image = document.createElement("img");
    image.src = canvases[i].toDataURL();
    image.width = canvases[i].clientWidth;
    image.height = canvases[i].clientHeight;
    canvas.replaceWith(image);
  });
  const wide = Math.ceil(width + 2 * margin),
    high = Math.ceil(Math.max(height, element.scrollHeight) + 2 * margin);
  const theme = getComputedStyle(document.body);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", String(wide * scale));
  svg.setAttribute("height", String(high * scale));
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  const holder = document.createElementNS("http://www.w3.org/2000/svg", "foreignObject");
  holder.setAttribute("width", "100%");
  holder.setAttribute("height", "100%");
  const page = document.createElement("div");
  const style = document.createElement("style");
  style.textContent =
    [...document.styleSheets]
      .flatMap((sheet) => [...sheet.cssRules])
      .map((rule) => rule.cssText.replace(/:root/g, ".picture").replace(/^body\b/, ".picture"))
      .join("\n") +
    `.picture { color-scheme: ${dark() ? "dark" : "light"}; font: ${theme.font}; margin: 0; padding: ${margin}px; ` +
    `max-width: none; width: ${wide}px; height: ${high}px; overflow: hidden; display: block; }` +
    ".picture #map { overflow: visible; height: auto; max-height: none; }";
  page.className = "picture";
  page.append(style, copy);
  holder.append(page);
  svg.append(holder);
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(svg));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const paper = canvas.getContext("2d");
  paper.fillStyle = theme.backgroundColor;
  paper.fillRect(0, 0, canvas.width, canvas.height);
  paper.drawImage(image, 0, 0);
  return new Promise((take) => canvas.toBlob(take, "image/png"));
}

const dark = () =>
  (document.documentElement.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
