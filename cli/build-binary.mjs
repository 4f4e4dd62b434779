// `npm run build:binary`: builds pm-cli as a single file that includes Bun and needs nothing else. It is built for this
// platform, or with `-- --target linux-arm64` for another, whose Bun is then downloaded from npm's registry.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const TARGETS = [
  ...["linux-x64", "linux-x64-baseline", "linux-x64-musl", "linux-arm64", "linux-arm64-musl"],
  ...["darwin-x64", "darwin-arm64", "windows-x64"],
];

const { target: targets = [] } = parseOptions();
for (const target of targets) {
  if (!TARGETS.includes(target))
    fail(`unknown target ${target}: choose from ${TARGETS.join(", ")}`, 2);
}
if (targets.length === 0) build("build/pm-cli", []);
for (const target of targets) {
  const ending = target.startsWith("windows") ? ".exe" : "";
  build(`build/pm-cli-${target}${ending}`, [`--target=bun-${target}`]);
}

function parseOptions() {
  try {
    return parseArgs({ options: { target: { type: "string", multiple: true } } }).values;
  } catch (error) {
    return fail(`${error.message}\nnpm run build:binary [-- --target ${TARGETS.join("|")}]…`, 2);
  }
}

/**
 * @param {string} file below the root
 * @param {string[]} options of Bun
 */
function build(file, options) {
  // Without bytecode the whole bundle is parsed at each start, and without splitting all of its bytecode is read; without
  // `esm` Bun accepts no top-level await.
  const how = ["--compile", "--bytecode", "--splitting", "--minify", "--format=esm", ...options];
  // Next to each other, as in dist, since one starts the other by name.
  const scripts = ["cli/index.ts", "src/auth/passwords-worker.mjs", "--entry-naming=[name].[ext]"];
  // A part of ssh2 that is compiled, which it does without.
  how.push("--external=cpu-features");
  const { status, error } = spawnSync(
    `${root}node_modules/.bin/bun`,
    ["build", ...scripts, ...how, `--outfile=${file}`],
    { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
  );
  if (error)
    fail(`Bun, which builds the binary, can't be run: ${error.message}. Run npm install.`, 1);
  if (status !== 0) fail(`${file} could not be built.`, 1);
  console.log(file);
}

/**
 * @param {string} message
 * @param {number} code
 * @returns {never}
 */
function fail(message, code) {
  console.error(message);
  process.exit(code);
}
