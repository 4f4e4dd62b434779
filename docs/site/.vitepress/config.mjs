import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// The documents as a site: `npm run docs:site` (decision 99).

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The first heading of a document, as a link of the sidebar. */
function linkTo(path) {
  const [, text] = /^# (.*)$/m.exec(readFileSync(`${root}/${path}`, "utf8")) ?? [];
  return {
    text: text?.replaceAll("`", ""),
    link: `/${path.replace(/README\.md$/, "").replace(/\.md$/, "")}`,
  };
}

/** The documents of a folder, in the order of their names. */
const allOf = (folder) =>
  readdirSync(`${root}/${folder}`)
    .filter((name) => name.endsWith(".md") && name !== "README.md")
    .sort()
    .map((name) => linkTo(`${folder}/${name}`));

/** The documents that a section of the README names, in its order. */
function namedIn(readme) {
  return [...readme.matchAll(/\]\((docs\/[\w-]+\.md)\)/g)].map(([, path]) => linkTo(path));
}

/**
 * Documents link to each other as GitHub takes it: to READMEs, to folders that have one, and to files, which VitePress would
 * take for pages.
 */
function linksOfGithub({ tokens, env }) {
  const links = tokens.flatMap(({ children }) => children ?? []);
  for (const link of links.filter(({ type }) => type === "link_open")) {
    const [path, anchor] = link.attrGet("href").split("#");
    if (path === "" || /^[a-z]+:/.test(path)) continue;
    const readme = join(dirname(env.path), path, "README.md");
    const page = existsSync(readme) ? join(path, "README.md") : path;
    if (!page.endsWith(".md")) link.attrSet("download", "");
    const shown = page.replace(/(^|\/)README\.md$/, "$1index.md");
    link.attrSet("href", anchor === undefined ? shown : `${shown}#${anchor}`);
  }
}

const examples = readdirSync(`${root}/examples`)
  .sort()
  .map((name) => linkTo(`examples/${name}/README.md`));

const { description, repository } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
/** The project's address, once its owner has set it in package.json: `github:OWNER/NAME`, or a URL. */
const address = (repository?.url ?? repository)
  ?.replace(/^github:/, "https://github.com/")
  .replace(/^gitlab:/, "https://gitlab.com/")
  .replace(/^git\+|\.git$/g, "");

export default {
  title: "pm-api",
  description,
  srcDir: "../..",
  outDir: "../../build/site",
  cacheDir: "../../build/site-cache",
  srcExclude: ["**/node_modules/**", "test/**", "src/**", "cli/**", "build/**", "dist/**"],
  // Where GitHub shows a README, a site has an index.
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, "$1index.md"),
  // The build's own check knows no files but pages: test/docs/site.test.ts follows all links.
  ignoreDeadLinks: true,
  markdown: {
    config: (md) => md.core.ruler.push("github", linksOfGithub),
    anchor: {
      slugify: (heading) =>
        heading
          .trim()
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
          .replaceAll(" ", "-"),
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Reference", link: "/docs/reference/" },
      { text: "Changes", link: "/CHANGELOG" },
      ...(address === undefined ? [] : [{ text: "Source", link: address }]),
    ],
    sidebar: [
      { text: "Guides", items: namedIn(readFileSync(`${root}/README.md`, "utf8")) },
      { text: "Examples", collapsed: true, items: examples },
      {
        text: "Reference",
        collapsed: true,
        link: "/docs/reference/",
        items: allOf("docs/reference"),
      },
      {
        text: "Decisions",
        collapsed: true,
        link: "/docs/decisions/",
        items: allOf("docs/decisions"),
      },
    ],
  },
};
