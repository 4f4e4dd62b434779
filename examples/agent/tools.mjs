import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/**
 * The tools that an agent has: an MCP server of GitLab, which it talks to over standard input and output.
 *
 * @returns `call(name, args)`, and `close()`
 */
export async function startTools({ api, token, command }) {
  const [program, ...args] = command;
  const server = spawn(program, args, {
    env: {
      ...process.env,
      GITLAB_API_URL: api,
      GITLAB_PERSONAL_ACCESS_TOKEN: token,
      GITLAB_TOOLSETS: "all",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const waiting = new Map();
  createInterface({ input: server.stdout }).on("line", (line) => {
    const { id, result, error } = JSON.parse(line);
    waiting.get(id)?.(error ? { isError: true, content: [{ text: error.message }] } : result);
    waiting.delete(id);
  });
  let last = 0;
  const send = (message) =>
    server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (method, params) =>
    new Promise((resolve) => {
      last += 1;
      waiting.set(last, resolve);
      send({ id: last, method, params });
    });
  await ask("initialize", {
    protocolVersion: "2025-03-26",
    capabilities: {},
    clientInfo: { name: "evaluation", version: "1" },
  });
  send({ method: "notifications/initialized" });
  return {
    call: (name, args) => ask("tools/call", { name, arguments: args }),
    close: () => server.kill(),
  };
}
