import { windowPage } from "../window/page.ts";
import { order, Whole } from "./order.ts";

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
      return new Whole(
        windowPage({
          served,
          others: all.filter((one) => one !== served),
          changes: await world.changes(),
          mails: await world.mails.list(),
          hooks: await world.hooks.list(),
        }),
      );
    },
  }),
];
