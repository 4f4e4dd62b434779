import { createApp } from "pm-api";
import { createHandler } from "pm-api/bun";

const pm = await createApp({ database: ":memory:" });
await pm.admin.seed({
  users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
  groups: [{ path: "acme", members: { ada: "owner" }, boards: [{ name: "Development" }] }],
});

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT ?? 3000),
  // Seconds without a byte; Bun's default of 10 is short for a slow client's upload.
  idleTimeout: 120,
  routes: {
    "/": () => new Response("The shop's front page"),
    "/api/*": createHandler(pm),
  },
});
console.log(`${server.url}api/v4/groups/acme/boards?private_token=ada-token`);

process.once("SIGTERM", async () => {
  await server.stop();
  await pm.close();
});
