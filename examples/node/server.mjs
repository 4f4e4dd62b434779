import { createApp } from "pm-api";
import { serve } from "pm-api/node";

const pm = await createApp({ database: process.env.DATABASE ?? "pm.db" });

if ((await pm.admin.users.list()).length === 0) {
  const user = { username: "root", name: "Administrator", email: "root@example.com", admin: true };
  await pm.admin.users.create(user);
  const { token } = await pm.admin.tokens.create({ user: "root", name: "first", scopes: ["api"] });
  console.log(`The token of root, shown only now: ${token}`);
}

const server = await serve(pm, { port: Number(process.env.PORT ?? 3000) });
console.log(`The API is at ${server.url}/api/v4`);

// Finishes running requests, then closes the database.
process.once("SIGTERM", async () => {
  await server.close();
  await pm.close();
});
