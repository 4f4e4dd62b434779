// Measures a reset of emulate's GitHub, in milliseconds of CPU, and prints it as JSON.
import { createEmulator } from "emulate";

const emulator = await createEmulator({
  service: "github",
  port: Number(process.argv[2]),
  seed: {
    tokens: { token: { login: "root", scopes: ["repo"] } },
    github: {
      users: [{ login: "root", name: "root" }],
      orgs: [{ login: "acme", members: [{ login: "root", role: "admin" }] }],
      repos: ["app", "site"].map((name) => ({ owner: "acme", name, auto_init: true })),
    },
  },
});
const timed = (times) => {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time += 1) emulator.reset();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
};
timed(50);
console.log(JSON.stringify(timed(200)));
await emulator.close();
