import { expect, it } from "vitest";
import { badRequest, Unapplied } from "../../src/core/errors.ts";
import { Retries } from "../../src/core/http/retries.ts";

it("while outdated work is repeated, work that may become outdated waits, and other work does not", async () => {
  const retries = new Retries();
  const [merging, reading] = [{}, {}];
  const done: string[] = [];
  let proceed = () => {};
  const gate = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const first = retries.run("1", merging, async (isLater) => {
    if (!isLater) throw new Unapplied(badRequest("outdated"), true, async () => undefined);
    done.push("repeated");
    await gate;
    done.push("merged");
  });
  await expect.poll(() => done).toEqual(["repeated"]);
  const second = retries.run("1", merging, async (isLater) => {
    done.push(`second ${isLater}`);
  });
  await retries.run("1", reading, async () => done.push("read"));
  await retries.run("2", merging, async (isLater) => done.push(`elsewhere ${isLater}`));
  proceed();
  await Promise.all([first, second]);
  expect(done).toEqual(["repeated", "read", "elsewhere false", "merged", "second true"]);
});
