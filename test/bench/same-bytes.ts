import { answerOf } from "./load.ts";
import type { Operation } from "./operations.ts";
import type { Server } from "./processes.ts";

/** Instants, which differ from server to server where something is created or changed. */
const INSTANTS = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

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
      throw new Error(`${operation.name}: ${name} answers\n${answer}\nand not\n${expected}`);
    }
  }
}
