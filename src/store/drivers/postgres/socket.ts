import { Socket } from "node:net";

/**
 * A socket that sends the queries of one turn of the event loop with one system call. `pg` makes one for each query,
 * between `cork` and `uncork`.
 */
export class TurnSocket extends Socket {
  #isHeld = false;

  override cork(): void {
    if (!this.#isHeld) {
      this.#isHeld = true;
      super.cork();
      process.nextTick(() => {
        this.#isHeld = false;
        this.uncork();
      });
    }
    super.cork();
  }
}
