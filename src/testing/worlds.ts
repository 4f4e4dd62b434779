import type { Server } from "../adapters.ts";
import { ApiError, notFound } from "../core/errors.ts";
import type { Incoming, Reply, Respond } from "../core/http/incoming.ts";
import { createWorld, type World, type WorldOptions } from "./world.ts";

/** Listens on an address. `port` 0 is a free one. */
export type ServeWorld = (app: { respond: Respond }) => Promise<Server>;

/** A world's answers to its clients, and to whoever gives it orders. */
export type AnswerIn = (world: World, worlds: Worlds) => Respond;

/** What whoever starts a program with a world has to know of it: the ready line of `pm-cli test`. */
export interface WorldAddress {
  /** `main` for the first world; others have a number. */
  id: string;
  url: string;
  /** The address of the REST API. */
  api: string;
  graphql: string;
  /** The address below which it takes orders. */
  control: string;
  /** The version of GitLab that it says it is. */
  version: string;
  /** The first token of each user of its seed that has one, by user name. */
  tokens: Readonly<Record<string, string>>;
}

/** A world with an address. */
export interface Served {
  readonly id: string;
  readonly world: World;
  readonly url: string;
  /** Ends it and its address. */
  close(): Promise<void>;
}

/** The most worlds that orders add: each has a database in memory. */
const MOST_WORLDS = 100;

/** Where worlds without a port of their own are: below this path of the first one. */
const PREFIX = "/-/worlds/";

/** The worlds of a program: one from the start, and those that orders add, each with an address of its own. */
export class Worlds {
  readonly #serve: ServeWorld;
  readonly #answerIn: AnswerIn;
  readonly #options: WorldOptions;
  readonly #served = new Map<string, Served>();
  #main: Served | undefined;
  #last = 0;
  /** How many are being added. */
  #starting = 0;

  /** @param options of each world; an order may give another seed */
  constructor(serve: ServeWorld, answerIn: AnswerIn, options: WorldOptions) {
    this.#serve = serve;
    this.#answerIn = answerIn;
    this.#options = options;
  }

  /** Starts the first world, with the program's address. */
  async start(): Promise<Served> {
    const world = await createWorld(this.#options);
    this.#main = await this.#listen("main", world, (incoming) => this.#withPrefix(incoming));
    return this.#main;
  }

  /**
   * Adds a world.
   *
   * @param options `seed`: other data than that of the first world; `prefix`: it gets a path of the first one's address,
   *   which every link carries, instead of a port
   * @throws SeedError if the seed can't be used
   * @throws ApiError 409 if there are too many
   */
  async add({ seed, prefix = false }: Pick<WorldOptions, "seed"> & { prefix?: boolean }) {
    // The first one is not counted.
    if (this.#served.size - 1 + this.#starting >= MOST_WORLDS) {
      throw new ApiError(409, {
        message: `${MOST_WORLDS} worlds have been added already, which is the most: delete one`,
      });
    }
    this.#starting += 1;
    try {
      const added = { ...this.#options, ...(seed !== undefined && { seed }) };
      return await this.#begin(await createWorld(added), prefix);
    } finally {
      this.#starting -= 1;
    }
  }

  async #begin(world: World, prefix: boolean): Promise<Served> {
    this.#last += 1;
    const id = String(this.#last);
    if (!prefix) return this.#listen(id, world);
    const served: Served = {
      id,
      world,
      url: `${this.#main?.url}${PREFIX}${id}`,
      close: () => world.close(),
    };
    this.#served.set(id, served);
    return served;
  }

  /** All worlds, in the order of their creation. */
  list(): Served[] {
    return [...this.#served.values()];
  }

  /** @throws ApiError 404 */
  async remove(id: string): Promise<void> {
    const served = this.#served.get(id);
    if (!served || served === this.#main) throw notFound("World");
    this.#served.delete(id);
    await served.close();
  }

  /** Ends all worlds and their addresses. */
  async close(): Promise<void> {
    const all = this.list();
    this.#served.clear();
    await Promise.all(all.map((served) => served.close()));
  }

  async #listen(
    id: string,
    world: World,
    before: (incoming: Incoming) => Promise<Reply | undefined> | undefined = () => undefined,
  ): Promise<Served> {
    const respond = this.#answerIn(world, this);
    const server = await this.#serve({
      respond: (incoming) => before(incoming) ?? respond(incoming),
    });
    const close = async () => {
      // Answers that wait because of a fault end with the world.
      await Promise.all([world.close(), server.close()]);
    };
    const served = { id, world, url: server.url, close };
    this.#served.set(id, served);
    return served;
  }

  /** Answers what belongs to a world without a port. */
  #withPrefix(incoming: Incoming): Promise<Reply | undefined> | undefined {
    if (!incoming.path.startsWith(PREFIX)) return undefined;
    const [id = ""] = incoming.path.slice(PREFIX.length).split("/", 1);
    const served = this.#served.get(id);
    if (!served || served.url !== `${this.#main?.url}${PREFIX}${id}`) return undefined;
    const prefix = PREFIX + id;
    return this.#answerIn(
      served.world,
      this,
    )({
      ...incoming,
      path: incoming.path.slice(prefix.length) || "/",
      base: incoming.base && incoming.base + prefix,
    });
  }
}

/** The address of a world, as programs are told it. */
export function addressOf({ id, url, world: { version, tokens } }: Served): WorldAddress {
  return {
    id,
    url,
    api: `${url}/api/v4`,
    graphql: `${url}/api/graphql`,
    control: `${url}/-/test/`,
    version,
    tokens,
  };
}
