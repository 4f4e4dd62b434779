import { createApp } from "pm-api";

const pm = await createApp({ database: ":memory:" });
await pm.admin.seed({
  users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
  groups: [{ path: "acme", members: { ada: "owner" }, boards: [{ name: "Development" }] }],
});

/** Like fetch, but in process, without a network. */
function call(path, init = {}) {
  const headers = { "private-token": "ada-token", ...init.headers };
  return pm.fetch(new Request(`http://localhost/api/v4${path}`, { ...init, headers }));
}

const body = new URLSearchParams({ name: "urgent", color: "#cc0000" });
const created = await call("/groups/acme/labels", { method: "POST", body });
console.log(created.status, (await created.json()).name);

const boards = await call("/groups/acme/boards");
for (const { name } of await boards.json()) console.log(name);

await pm.close();
