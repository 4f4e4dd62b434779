import { limitsInput } from "../limits.ts";
import { order } from "./order.ts";

export const limitOrders = [
  order({
    method: "GET",
    path: "limits",
    summary: "Returns the limits that can be changed; `null` is none",
    run: ({ world: { limits } }) => limits.get(),
  }),
  order({
    method: "PUT",
    path: "limits",
    summary:
      "Sets the limit of requests (`rateLimit`: `requests`, `retryAfter`), sizes of pages, bodies and attachments, and how many sign-ins and requests per minute are taken; the others stay, and `null` returns one to what it was at the start",
    body: limitsInput,
    run: ({ world: { limits }, body }) => {
      limits.set(body);
      return limits.get();
    },
  }),
];
