// Prints the resident memory of a hundred test servers, in bytes, as JSON.
import { startTestServer } from "../../../dist/testing.js";

const servers = [];
for (let number = 0; number < 100; number += 1) servers.push(await startTestServer());
for (const { app, token } of servers) {
  await app.fetch("http://localhost/api/v4/groups", { headers: { "private-token": token } });
}
console.log(JSON.stringify(process.memoryUsage.rss()));
for (const server of servers) await server.close();
