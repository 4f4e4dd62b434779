// `npm run docs:site`: builds the documents as a site in build/site. VitePress is installed when that is first run: it is
// larger than all that a commit needs.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const site = join(root, "build/site");

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

const vitepress = join(folder, "node_modules/vitepress/bin/vitepress.js");
if (!existsSync(vitepress)) {
  const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
  run("npm", ["install", ...options], folder);
}
rmSync(site, { recursive: true, force: true });
run(process.execPath, [vitepress, "build", "docs/site"], root);

// What pages link to that is no page, such as openapi.json and the programs of examples.
for (const page of readdirSync(site, { recursive: true, encoding: "utf8" })) {
  if (!page.endsWith(".html")) continue;
  for (const [, link = ""] of readFileSync(join(site, page), "utf8").matchAll(
    / href="([^"#?]+)/g,
  )) {
    if (/^[a-z]+:/.test(link)) continue;
    const path = link.startsWith("/") ? link.slice(1) : join(dirname(page), link);
    const [from, to] = [join(root, path), join(site, path)];
    if (existsSync(to) || !existsSync(from)) continue;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to, { recursive: true });
  }
}
