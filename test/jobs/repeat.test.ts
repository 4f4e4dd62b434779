import { expect, it } from "vitest";
import { repeat } from "../../src/jobs/services.ts";
import { waitFor } from "../helpers.ts";

it("work is done again and again, after failures as well, until it is stopped", async () => {
  const errors: unknown[] = [];
  let times = 0;
  const service = repeat(
    async () => {
      times += 1;
      if (times === 2) throw new Error("the second time");
    },
    1,
    (error) => errors.push(error),
  );
  await waitFor(async () => times > 3);
  await service.stop();
  const done = times;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([times, errors]).toEqual([done, [new Error("the second time")]]);
});

it("whoever stops it waits for the work that runs, whose failure is not reported", async () => {
  const errors: unknown[] = [];
  let fail: ((reason: Error) => void) | undefined;
  const work = () =>
    new Promise<void>((_, reject) => {
      fail = reject;
    });
  const service = repeat(work, 1, (error) => errors.push(error));
  await waitFor(async () => fail !== undefined);
  let hasStopped = false;
  const stopping = Promise.resolve(service.stop()).then(() => {
    hasStopped = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasStopped).toBe(false);
  fail?.(new Error("while it is stopped"));
  await stopping;
  expect(errors).toEqual([]);
});
