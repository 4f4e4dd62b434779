/** Why something that a Git client sent is not accepted. The message is for the client's user. */
export class RefusedError extends Error {
  override get name() {
    return "RefusedError" as const;
  }
}
