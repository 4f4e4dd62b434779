import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApp } from "../../src/index.ts";
import { baseSeed, call, waitFor } from "../helpers.ts";
import { newFolder, run, runJson } from "./helpers.ts";

const folder = newFolder();
const db = join(folder.path, "pm.db");
const received: string[] = [];
let refuses = false;
const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS"],
  onRcptTo: (_, __, done) =>
    done(refuses ? Object.assign(new Error("No such user"), { responseCode: 550 }) : null),
  onData(stream, session, done) {
    received.push(...session.envelope.rcptTo.map(({ address }) => address));
    stream.on("end", () => done()).resume();
  },
});
let smtp: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  smtp = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise<void>((resolve) => server.close(resolve));
  folder.remove();
});

describe("user invite", () => {
  const ada = ["--username", "lin", "--name", "Lin", "--email", "lin@example.com"];
  const of = ["--db", join(folder.path, "invited.db")];

  it("mails the link, if it knows how and where it begins", async () => {
    const env = { PM_SMTP: smtp, PM_MAIL_FROM: "pm@example.com" };
    const url = ["--url", "https://pm.example.com"];
    const invited = await run(["user", "invite", ...ada, ...of, ...url], { env });
    expect([invited.code, invited.stderr]).toEqual([0, ""]);
    expect(invited.stdout).toContain(
      "The link was mailed to lin@example.com.\nhttps://pm.example.com/",
    );
    expect(received.splice(0)).toEqual(["lin@example.com"]);
    const other = ["--username", "zoe", "--name", "Zoe", "--email", "zoe@example.com"];
    const unmailed = await run(["user", "invite", ...other, ...of], { env });
    expect([unmailed.code, received]).toEqual([0, []]);
    expect(unmailed.stdout).toContain("It is not mailed: that needs --mail-from");
    refuses = true;
    const third = ["--username", "kim", "--name", "Kim", "--email", "kim@example.com"];
    const refused = await run(["user", "invite", ...third, ...of, ...url], { env });
    refuses = false;
    expect(refused.code).toBe(1);
    expect(refused.stdout).toContain("https://pm.example.com/users/password/edit");
    expect(refused.stderr).toMatch(/^error: the link was not mailed: .*No such user/);
  });
});

describe("mail test", () => {
  const from = ["--mail-from", "pm@example.com", "--to", "ada@example.com"];

  it("sends a mail, without a database", async () => {
    const { code, stdout, stderr } = await run(["mail", "test", "--smtp", smtp, ...from]);
    expect([code, stdout, stderr]).toEqual([0, "Sent a mail to ada@example.com.\n", ""]);
    expect(received).toEqual(["ada@example.com"]);
  });

  it("reports why it could not, without the password", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const url = `smtp://pm:top-secret@127.0.0.1:${port}`;
    const { code, stderr } = await run(["mail", "test", ...from], { env: { PM_SMTP: url } });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: the mail was not sent: .*ECONNREFUSED.*\n$/);
    expect(stderr).not.toContain("top-secret");
  });

  it("requires a server and a recipient", async () => {
    const { code, stderr } = await run(["mail", "test", "--smtp", smtp]);
    expect([code, stderr]).toEqual([2, "error: --to and --mail-from are required\n"]);
  });
});

describe("mail queue", () => {
  it("lists failed mails, and retries them", async () => {
    const mail = { smtp, from: "pm@example.com", interval: 20 };
    const open = () => createApp({ database: db, url: "https://pm.example.com", mail });
    const app = await open();
    await app.admin.seed(baseSeed);
    refuses = true;
    const json = { title: "A", description: "@guest" };
    await call(app, "POST /projects/acme%2Fsite/issues", { as: "owner", json });
    await waitFor(async () => (await app.admin.mails.list())[0]?.state === "failed");
    await app.close();
    refuses = false;

    const [mailed] = await runJson(["mail", "queue", "--db", db]);
    expect(mailed).toMatchObject({ state: "failed", user: "guest", reason: "mentioned" });
    const listed = await run(["mail", "queue", "--db", db]);
    expect([listed.code, listed.stderr]).toEqual([0, ""]);
    expect(listed.stdout).toContain("550 No such user");
    const unknown = await run(["mail", "queue", "--db", db, "--retry", "4711"]);
    expect([unknown.code, unknown.stderr]).toEqual([1, "error: there is no such mail\n"]);
    const again = await run(["mail", "queue", "--db", db, "--retry"]);
    expect([again.code, again.stdout]).toEqual([0, "1 is retried at once.\n"]);

    const sending = await open();
    await waitFor(async () => received.includes("guest@example.com"));
    await sending.close();
    const { stdout } = await run(["mail", "queue", "--db", db]);
    expect(stdout).toBe("There are no mails to send.\n");
  });
});
