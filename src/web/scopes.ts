import type { Scope } from "../core/auth.ts";

/** What scopes allow, in plain words. */
export const SCOPE_MEANINGS: Readonly<Record<Scope, string>> = {
  api: "Read and change everything you may",
  read_api: "Read everything you may",
  read_user: "See your account, the other users and your events",
  sudo: "Act as any other user",
};
