// Bundles the script and the style of the HTML report and of the playground: `npm run build`, or `make generate`.
// A bundle's first line holds the hash of what it is made from; a test says when that is out of date.
import {build} from "esbuild";
import {createHash} from "node:crypto";
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from "node:fs";

const always = ["pkg/web/build.mjs", "pkg/web/package.json", "pkg/web/package-lock.json"];
const shared = "pkg/web/shared",
  report = "pkg/web/report",
  page = "pkg/web/page",
  languages = "pkg/web/languages";
const ofReport = "pkg/report/format/page/bundle",
  ofPage = "pkg/web/bundle";

process.chdir(import.meta.dirname + "/../..");

// sourcesOf hashes the files that a bundle is made from, as sha256sum prints them.
function sourcesOf(folders, kinds) {
  const files = [
    ...always,
    ...folders.flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => kinds.test(name) && !name.endsWith(".test.js"))
        .map((name) => folder + "/" + name),
    ),
  ].sort();
  const sum = (data) => createHash("sha256").update(data).digest("hex");
  return sum(files.map((file) => `${sum(readFileSync(file))}  ${file}\n`).join(""));
}

// licencesOf are the licences of the packages that a bundle has something of, each text once.
function licencesOf(inputs) {
  const packages = new Set(
    Object.keys(inputs).flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
  );
  const texts = new Map();
  for (const folder of [...packages].sort()) {
    const text = readFileSync(folder + "/LICENSE", "utf8").trim();
    texts.set(text, [...(texts.get(text) ?? []), folder]);
  }
  const named = (folder) => {
    const {name, version} = JSON.parse(readFileSync(folder + "/package.json", "utf8"));
    return `${name} ${version}`;
  };
  return [...texts].map(([text, folders]) => `/*\n${folders.map(named).join(", ")}\n\n${text}\n*/\n`).join("");
}

async function bundle(from, to, folders, kinds, options) {
  const {
    outputFiles: [{text}],
    metafile: {inputs},
  } = await build({
    absWorkingDir: process.cwd(),
    entryPoints: ["./" + from],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    charset: "utf8",
    target: "es2023",
    legalComments: "none",
    logLevel: "warning",
    ...options,
  });
  writeFileSync(to, `/* sources sha256:${sourcesOf(folders, kinds)} */\n${text}${licencesOf(inputs)}`);
}

for (const to of [ofReport, ofPage]) mkdirSync(to, {recursive: true});
await bundle(report + "/page.js", ofReport + "/page.js", [shared, report], /\.js$/, {
  format: "iife",
  globalName: "faultline",
});
await bundle(shared + "/page.css", ofReport + "/page.css", [shared], /\.css$/, {});
await bundle(page + "/main.js", ofPage + "/playground.js", [shared, page, languages], /\.js(on)?$/, {format: "iife"});
await bundle(page + "/worker.js", ofPage + "/worker.js", [page], /\.js$/, {format: "iife"});
await bundle(page + "/playground.css", ofPage + "/playground.css", [shared, page], /\.css$/, {});
