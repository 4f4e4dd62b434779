import { ApiError } from "../core/errors.ts";
import { OptionError } from "../core/options.ts";
import { openMemory } from "../store/open.ts";
import type { Image, MemoryStore } from "../store/sqlite.ts";

/** The most snapshots of a world: each is a copy of its database. */
const MOST_SNAPSHOTS = 100;
/** How many databases of snapshots stay open: going back to an open one takes a tenth of the time. */
const MOST_OPEN = 3;
const LONGEST_NAME = 200;

/** A state that a world can go back to. */
interface State {
  readonly image: Image;
  /** A database that has begun with it. */
  store: MemoryStore | undefined;
}

/** A state with a name, and what belongs to it outside of the database. */
interface Saved<Beside> extends State {
  readonly beside: Beside;
}

/** The states of a world: its seed, its snapshots, and the one that it is in. */
export class States<Beside> {
  readonly #seed: State;
  readonly #saved = new Map<string, Saved<Beside>>();
  /** Snapshots whose databases are open, the latest last. */
  #open: State[] = [];
  /** A second database in a state, to look at. */
  #seen: { readonly state: State; readonly store: MemoryStore } | undefined;
  /** What the world's database has begun with. */
  #current: State;

  private constructor(seed: State) {
    this.#seed = seed;
    this.#current = seed;
  }

  /** @param store which is in the state that {@link reset} goes back to */
  static async of<Beside>(store: MemoryStore): Promise<States<Beside>> {
    const image = await store.image();
    await store.mark();
    return new States<Beside>({ image, store });
  }

  /** The database of the present state. */
  get store(): MemoryStore {
    return this.#current.store as MemoryStore;
  }

  /** Goes back to the seed. */
  reset(): Promise<void> {
    return this.#go(this.#seed);
  }

  /**
   * Names the present state. A name that there is gets the new one.
   *
   * @param beside what {@link restore} returns
   * @throws OptionError if the name can't be one, or there are too many
   */
  async save(name: string, beside: Beside): Promise<void> {
    if (name === "" || name.length > LONGEST_NAME || name.includes("\0")) {
      throw new OptionError("snapshots", "name", `must have 1 to ${LONGEST_NAME} characters`);
    }
    if (!this.#saved.has(name) && this.#saved.size >= MOST_SNAPSHOTS) {
      throw new ApiError(409, {
        message: `There are ${MOST_SNAPSHOTS} snapshots already, which is the most: delete one`,
      });
    }
    const left = this.#current;
    const { store } = this;
    // The world's database goes on from here; what it has begun with is opened again when it is wanted.
    const image = await store.image();
    left.store = undefined;
    const saved: Saved<Beside> = { image, store, beside };
    this.#current = saved;
    this.#open = [...this.#open.filter((one) => one !== left), saved];
    const before = this.#saved.get(name);
    this.#saved.delete(name);
    this.#saved.set(name, saved);
    if (before) await this.#free(before);
    if (left !== before) await this.#forget(left);
  }

  /** Goes to a named state. @throws ApiError 404 */
  async restore(name: string): Promise<Beside> {
    const state = this.#find(name);
    await this.#go(state);
    return state.beside;
  }

  /** The names, in the order in which they were saved. */
  list(): string[] {
    return [...this.#saved.keys()];
  }

  /** @throws ApiError 404 */
  async remove(name: string): Promise<void> {
    const state = this.#find(name);
    this.#saved.delete(name);
    // What the world is in stays until it is left.
    if (state !== this.#current) await this.#free(state);
  }

  /**
   * A database in a named state, to look at; without a name, in that of the seed. It is kept for the next look.
   *
   * @throws ApiError 404
   */
  async before(name: string | undefined): Promise<MemoryStore> {
    const state = name === undefined ? this.#seed : this.#find(name);
    if (this.#seen?.state !== state) {
      await this.#seen?.store.close();
      this.#seen = { state, store: await openMemory(state.image) };
    }
    return this.#seen.store;
  }

  /** Frees everything. */
  async close(): Promise<void> {
    const states = new Set<State>([this.#seed, this.#current, ...this.#saved.values()]);
    this.#saved.clear();
    await this.#seen?.store.close();
    for (const { image, store } of states) {
      await store?.close();
      image.close();
    }
  }

  #find(name: string): Saved<Beside> {
    const found = this.#saved.get(name);
    if (found) return found;
    const names = this.list().join(", ");
    throw new ApiError(404, {
      message: `There is no snapshot ${name}. ${names === "" ? "There are none" : `There are ${names}`}`,
    });
  }

  async #go(state: State): Promise<void> {
    const left = this.#current;
    if (state.store) await state.store.rewind();
    else {
      state.store = await openMemory(state.image);
      await state.store.mark();
    }
    this.#current = state;
    if (state !== this.#seed) this.#open = [...this.#open.filter((one) => one !== state), state];
    if (left !== state) await this.#forget(left);
    for (const old of this.#open.slice(0, -MOST_OPEN)) await this.#shut(old);
  }

  /** Frees a state that was left, if it has no name any more. */
  async #forget(state: State): Promise<void> {
    const isNamed = [...this.#saved.values()].some((one) => one === state);
    if (state !== this.#seed && !isNamed) await this.#free(state);
  }

  async #free(state: State): Promise<void> {
    await this.#shut(state);
    if (this.#seen?.state === state) {
      await this.#seen.store.close();
      this.#seen = undefined;
    }
    state.image.close();
  }

  async #shut(state: State): Promise<void> {
    this.#open = this.#open.filter((one) => one !== state);
    if (state === this.#current) return;
    const { store } = state;
    state.store = undefined;
    await store?.close();
  }
}
