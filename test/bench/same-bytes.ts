import { answerOf } from "./load.ts";
import type { Operation } from "./operations.ts";
import type { Server } from "./processes.ts";

/** Instants, which differ from server to server where something is created or changed. */
const INSTANTS = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** Characters before and after the first difference of two answers that are shown. */
const SHOWN = 200;

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
}

/**
 * Sends a request of an operation to each contender.
 *
 * @throws Error if a contender's answer differs from the others'
 */
export async function requireSameBytes(
  operation: Operation,
  contenders: readonly { name: string; server: Pick<Server, "url"> }[],
): Promise<void> {
  let expected: string | undefined;
  for (const { name, server } of contenders) {
    const answer = (await answerOf(server, operation)).replace(INSTANTS, "…");
    expected ??= answer;
    if (answer !== expected) {
      const at = firstDifference(answer, expected);
      const around = (text: string) => text.slice(Math.max(0, at - SHOWN), at + SHOWN);
      throw new Error(
        `${operation.name}: ${name} answers\n…${around(answer)}…\nand not\n…${around(expected)}…`,
      );
    }
  }
}
