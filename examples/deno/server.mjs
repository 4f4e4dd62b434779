import { createApp } from "pm-api";
import { createHandler } from "pm-api/deno";

const pm = await createApp({ database: ":memory:" });
await pm.admin.seed({
  users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
  groups: [{ path: "acme", members: { ada: "owner" }, boards: [{ name: "Development" }] }],
});
const api = createHandler(pm);

const server = Deno.serve(
  {
    hostname: "127.0.0.1",
    port: Number(Deno.env.get("PORT") ?? 3000),
    onListen: ({ port }) => {
      const base = `http://127.0.0.1:${port}`;
      console.log(`${base}/api/v4/groups/acme/boards?private_token=ada-token`);
    },
  },
  (request, info) =>
    new URL(request.url).pathname === "/"
      ? new Response("The shop's front page")
      : api(request, info),
);

Deno.addSignalListener("SIGTERM", async () => {
  await server.shutdown();
  await pm.close();
  Deno.exit();
});
