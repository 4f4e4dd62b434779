import * as field from "../../core/field.ts";

/** A group, as its boards show it: a row `n` of namespaces. */
export const groupReference = field.nested({
  id: field.integer("n.id"),
  name: field.text("n.name"),
  web_url: field.url("n.full_path", (path) => `/groups/${path}`),
});
