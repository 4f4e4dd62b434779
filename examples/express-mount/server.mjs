import express from "express";
import { createApp } from "pm-api";
import { createMiddleware } from "pm-api/node";

const pm = await createApp({ database: ":memory:" });
await pm.admin.seed({
  users: [{ username: "ada", name: "Ada", tokens: [{ token: "ada-token" }] }],
  groups: [{ path: "acme", members: { ada: "owner" }, boards: [{ name: "Development" }] }],
});

const app = express();
app.use(express.json(), express.urlencoded());
app.get("/", (_req, res) => res.send("The shop's front page"));

// The API is at /tools/pm/api/v4, and its links include the prefix.
app.use("/tools/pm", createMiddleware(pm));

// Other paths are passed on to the app's own routes, also below the prefix.
app.get("/tools/pm/about", (_req, res) => res.send("About our project management"));
app.use((req, res) => res.status(404).json({ error: `There is no ${req.originalUrl}` }));

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  const base = `http://127.0.0.1:${server.address().port}`;
  console.log(`${base}/tools/pm/api/v4/groups/acme/boards?private_token=ada-token`);
});
process.once("SIGTERM", () => server.close(() => pm.close()));
