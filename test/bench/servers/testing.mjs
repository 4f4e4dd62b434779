// Measures what a test server takes, in milliseconds of CPU, and prints it as JSON.
const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};
const timed = async (times, work) => {
  const before = cpu();
  for (let time = 0; time < times; time += 1) await work(time);
  return (cpu() - before) / times;
};
const CHANGED = 1000;
const ISSUES = 10_000;

let startTestServer;
let server;
const first = await timed(1, async () => {
  ({ startTestServer } = await import("../../../dist/testing.js"));
  server = await startTestServer();
});
const others = [];
const second = await timed(10, async () => others.push(await startTestServer()));
for (const one of others.splice(0)) await one.close();

const ask = async (of, method, path, body) => {
  const headers = { "private-token": of.token, "content-type": "application/json" };
  const answer = await of.app.fetch(`http://localhost/api/v4${path}`, {
    ...{ method, headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
};
await timed(50, server.reset);
const reset = await timed(200, server.reset);

const issues = Array.from({ length: ISSUES }, (_, at) => ({ title: `${at}`, author: "root" }));
const many = await startTestServer({
  seed: {
    users: [{ username: "root", admin: true }],
    groups: [{ path: "acme", members: { root: "owner" }, projects: [{ path: "site", issues }] }],
  },
});
const rename = (at) => ask(many, "PUT", `/projects/1/issues/${at + 1}`, { title: `now ${at}` });
await timed(50, many.reset);
const amongMany = await timed(200, many.reset);
await rename(0);
await many.changes();
const changes = await timed(5, () => many.changes());
const afterChanges = [];
for (let round = 0; round < 5; round += 1) {
  for (let at = 0; at < CHANGED; at += 1) await rename(at);
  afterChanges.push(await timed(1, many.reset));
}
afterChanges.sort((a, b) => a - b);
await many.close();
await server.close();
console.log(JSON.stringify({ first, second, reset, amongMany, changed: afterChanges[2], changes }));
