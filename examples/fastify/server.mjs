import middie from "@fastify/middie";
import Fastify from "fastify";
import { createApp } from "pm-api";
import { createMiddleware } from "pm-api/node";

const pm = await createApp({ database: ":memory:" });
await pm.admin.seed({
  users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
  groups: [{ path: "acme", members: { ada: "owner" }, boards: [{ name: "Development" }] }],
});

const app = Fastify();
await app.register(middie);

// The API is at /tools/pm/api/v4, and its links include the prefix. It reads bodies before Fastify's parsers would.
app.use("/tools/pm", createMiddleware(pm));

// Other paths are passed on to the app's own routes, also below the prefix.
app.get("/", async () => "The shop's front page");
app.get("/tools/pm/about", async () => "About our project management");
app.addHook("onClose", () => pm.close());

const base = await app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });
console.log(`${base}/tools/pm/api/v4/groups/acme/boards?private_token=ada-token`);
process.once("SIGTERM", () => app.close());
