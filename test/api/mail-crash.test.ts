import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, it } from "vitest";
import { repeats } from "../forms.ts";
import { baseSeed, testApp } from "../helpers.ts";
import { kill, programOf, startProgram } from "../program.ts";

const LANES = 4;
const KILLS = repeats(1, 4);

it("loses no mail and sends none under two Message-IDs when sending processes are killed at any time", async () => {
  /** Message-IDs, one entry per arrival. */
  const arrived = new Map<string, number>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    async onData(stream, _, done) {
      let text = "";
      // A process killed in the middle of a mail has not sent it.
      try {
        for await (const chunk of stream) text += chunk;
      } catch {
        return;
      }
      const id = /^Message-ID:\s*(\S+)/im.exec(text)?.[1] as string;
      arrived.set(id, (arrived.get(id) ?? 0) + 1);
      done();
    },
  });
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const smtp = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;

  const app = await testApp({ seed: baseSeed });
  const program = await programOf(new URL("_mailer.ts", import.meta.url));
  const start = () => startProgram(program, app.database, smtp);

  let children = await Promise.all([start(), start()]);
  const post = (path: string, json: object, as: "owner" | "developer" = "owner") =>
    app.call(`POST /projects/acme%2Fsite/${path}`, { as, json });
  const people = ["maintainer", "developer", "reporter", "guest"];
  await post("issues", { title: "A", assignee_ids: [] });
  // Otherwise those who subscribe below may be told of the issue itself, too.
  while ((await app.admin.mails.list()).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  for (const as of ["maintainer", "developer", "reporter", "guest"] as const) {
    const { status } = await app.call("POST /projects/acme%2Fsite/issues/1/subscribe", { as });
    expect(status).toBe(201);
  }
  let notes = 0;
  for (let killed = 0; killed < KILLS; killed += 1) {
    const before = arrived.size;
    const writing = (async () => {
      for (let more = 0; more < 12; more += 1) {
        notes += 1;
        expect((await post("issues/1/notes", { body: `Note ${notes}` })).status).toBe(201);
      }
    })();
    // At any point while sending.
    while (arrived.size <= before + killed * 3) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await kill(children[0] as ChildProcess);
    await writing;
    children = [children[1] as ChildProcess, await start()];
  }
  // Other processes take over tasks of the dead when their leases end; the remaining ones end now.
  let before: number[] = [];
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const left = (await app.admin.mails.list()).map(({ id }) => id);
    if (left.length === 0) break;
    if (left.every((id) => before.includes(id)) && left.length === before.length) {
      await app.store.transaction((db) => db.run("update outbox set owner = null, due_at = 0"));
    }
    before = left;
  }
  for (const child of children) await kill(child);
  await program.remove();
  expect(arrived.size).toBe(notes * people.length);
  const doubled = [...arrived.values()].reduce((sum, times) => sum + times - 1, 0);
  expect(doubled).toBeLessThanOrEqual(KILLS * LANES);
  await new Promise<void>((resolve) => server.close(resolve));
  await app.dispose();
});
