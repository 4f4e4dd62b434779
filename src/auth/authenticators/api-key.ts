import type { Authenticator } from "../../core/http/authenticator.ts";
import { deployToken } from "./deploy.ts";
import { jobToken } from "./job.ts";
import { personalToken } from "./personal.ts";

/** A token in `X-NuGet-ApiKey`, where the route takes one and no other credentials are sent. */
const asApiKey = ({ callerOf }: Pick<Authenticator, "callerOf">): Authenticator => ({
  refusesUnknown: true,
  credential: ({ incoming, route }) =>
    route.apiKeys && !incoming.header("authorization") && !incoming.header("private-token")
      ? incoming.header("x-nuget-apikey")?.trim() || undefined
      : undefined,
  callerOf,
});

/** Tokens of users, jobs and deploy tokens, as NuGet sends what it calls the key of an API. */
export const tokensAsApiKeys: readonly Authenticator[] = [personalToken, jobToken, deployToken].map(
  asApiKey,
);
