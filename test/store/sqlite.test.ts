import { expect, it, onTestFinished } from "vitest";
import { createApp } from "../../src/index.ts";
import { openStore } from "../../src/store/open.ts";
import { UnavailableError } from "../../src/store/port.ts";
import { baseSeed, call, emptyDatabase, engine } from "../helpers.ts";

// PostgreSQL has no file to lock.
it.runIf(engine === "sqlite")(
  "a SQLite file locked by another process is 503 for writes, while reads go on",
  async () => {
    const { database, drop } = await emptyDatabase();
    onTestFinished(drop);
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const app = await createApp({ database, background: false, onError });
    onTestFinished(() => app.close());
    await app.admin.seed(baseSeed);
    const other = await openStore(database);
    onTestFinished(() => other.close());

    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let holder: Promise<void> | undefined;
    await new Promise<void>((resolve) => {
      holder = other.transaction(() => {
        resolve();
        return held;
      });
    });
    const write = (name: string) =>
      call(app, "POST /groups/acme/labels", { as: "owner", json: { name, color: "#123456" } });
    const refused = await Promise.all(["a", "b", "c"].map(write));
    const read = await call(app, "GET /groups/acme/labels", { as: "owner" });
    letGo();
    await holder;

    for (const answer of refused) {
      expect(answer.status).toBe(503);
      expect(answer.json).toEqual({ message: "503 Service Unavailable" });
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    // An outage is reported only once.
    expect(errors).toHaveLength(1);
    for (const error of errors) expect(error).toBeInstanceOf(UnavailableError);
    expect(read.status).toBe(200);
    expect((await write("a")).status).toBe(201);
  },
);
