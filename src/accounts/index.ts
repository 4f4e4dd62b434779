import type { Resource } from "../core/resource.ts";
import { migrations } from "./table.ts";

/** What the doors share: sessions, counted tries, the audit log. */
export const accountsResource: Resource = { name: "Accounts", migrations, routes: [] };
