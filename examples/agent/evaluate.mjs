// Evaluates an agent: each task begins at the seed, and is judged by what has changed.
import { startTestServer } from "pm-api/testing";
import { TASKS } from "./tasks.mjs";
import { startTools } from "./tools.mjs";

const [command = "npx --yes @zereight/mcp-gitlab"] = process.argv.slice(2);
const server = await startTestServer({ seed: new URL("./seed.json", import.meta.url) });
const tools = await startTools({
  api: server.address.api,
  token: server.token,
  command: command.split(" "),
});

/** The agent. A real one asks a model which tools to call; this one knows. */
async function solve({ calls }) {
  for (const [name, args] of calls) {
    const { isError, content } = await tools.call(name, args);
    if (isError) throw new Error(`${name}: ${content[0].text}`);
  }
}

let solved = 0;
const started = performance.now();
for (const { task, created, updated, deleted, calls } of TASKS) {
  await server.reset();
  await solve({ calls });
  const expected = { only: true, created, updated, deleted };
  const { ok, differences } = await server.expectChanges(expected);
  if (ok) solved += 1;
  else console.log(`✗ ${task}\n  ${differences.join("\n  ")}`);
  // Whoever does something else besides is found out.
  await solve({
    calls: [["create_label", { project_id: "acme/site", name: "x", color: "#000000" }]],
  });
  const { ok: unnoticed } = await server.expectChanges(expected);
  if (unnoticed) console.log(`✗ ${task}: a label more was not noticed`);
}
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(`${solved} of ${TASKS.length} tasks solved, in ${seconds} seconds`);
tools.close();
await server.close();
process.exitCode = solved === TASKS.length ? 0 : 1;
