import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { atTurnsEnd, nextTurn } from "../../src/turns/end.ts";

it("a turn ends with its answers and one slice of long work, however much waits", async () => {
  const done: string[] = [];
  for (const name of ["first", "second"]) void nextTurn().then(() => done.push(name));
  atTurnsEnd(() => done.push("answer"));
  await setImmediate();
  expect(done).toEqual(["answer", "first"]);
  await setImmediate();
  expect(done).toEqual(["answer", "first", "second"]);
});
