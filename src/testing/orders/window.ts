import type { Changes } from "../changes/changes.ts";
import { windowPage } from "../window/page.ts";
import { isSeeded, type PlaceKind, placeOf, seedOf } from "../window/seed.ts";
import type { World } from "../world.ts";
import { order, Whole } from "./order.ts";

/** Places that are looked at to write what was created as a seed. */
const MOST_PLACES = 50;

/** What was created as a seed, as far as it is in the first places. */
async function createdAsSeed({ app, token }: World, { created }: Changes): Promise<object> {
  const ask = async (path: string) => {
    const headers = { "private-token": token };
    return (await app.fetch(`http://localhost/api/v4${path}`, { headers })).json();
  };
  const kinds = new Map<string, PlaceKind>();
  const seeded = created.filter((one) => one.type !== "user" && isSeeded(one));
  for (const path of new Set(seeded.map(placeOf))) {
    if (kinds.size >= MOST_PLACES) break;
    const { namespace } = (await ask(`/projects/${encodeURIComponent(path)}`)) as {
      namespace?: { kind: string };
    };
    kinds.set(
      path,
      namespace
        ? namespace.kind === "user"
          ? "project of a user"
          : "project of a group"
        : "group",
    );
  }
  const within = created.filter((one) => one.type === "user" || kinds.has(placeOf(one)));
  if (within.length === 0) return {};
  const administrators = (await ask("/users?admins=true&per_page=100")) as { username: string }[];
  const admins = new Set(administrators.map(({ username }) => username));
  return seedOf({ created: within }, { kindOf: (path) => kinds.get(path), admins });
}

export const windowOrders = [
  order({
    method: "GET",
    path: "",
    summary:
      "Shows a page with what was asked, what has changed, mails, calls of webhooks, and tokens, which is kept up to date",
    run: async ({ world, worlds }) => {
      const all = worlds.list();
      const served = all.find((one) => one.world === world);
      if (!served) throw new TypeError("This world has ended");
      const changes = await world.changes();
      return new Whole(
        windowPage({
          served,
          others: all.filter((one) => one !== served),
          changes,
          seed: await createdAsSeed(world, changes),
          mails: await world.mails.list(),
          hooks: await world.hooks.list(),
        }),
      );
    },
  }),
];
