import { REVISION } from "../../core/version.ts";
import {
  about,
  arg,
  type GraphContext,
  type GraphqlModule,
  mutation,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";

const none = (type: string) => property(type, () => null);

const kas = valueType("Kas", "GitLab's agent server for Kubernetes, which there is none of.", {
  enabled: required(property("Boolean", () => false)),
  version: property("String", () => null),
  externalUrl: property("String", () => null),
});

const metadata = valueType("Metadata", "The GitLab that clients may expect.", {
  version: required(property("String", (_, { edition }: GraphContext) => edition.version)),
  revision: required(property("String", () => REVISION)),
  enterprise: required(property("Boolean", (_, { edition }: GraphContext) => edition.enterprise)),
  kas: required(property(kas, () => ({}))),
});

/** A licence that never ends and counts nobody. GitLab shows it to administrators only, though anyone can try the tier. */
const currentLicense = valueType(
  "CurrentLicense",
  "The license of the server: its plan is the tier whose features are enabled.",
  {
    id: required(property("ID", () => "gid://gitlab/License/1")),
    plan: required(property("String", (_, { tier }: GraphContext) => tier)),
    type: required(property("String", () => "offline_license")),
    trial: required(property("Boolean", () => false)),
    ...Object.fromEntries(["name", "email", "company"].map((name) => [name, none("String")])),
    ...Object.fromEntries(
      ["startsAt", "expiresAt", "createdAt", "blockChangesAt"].map((name) => [name, none("Date")]),
    ),
    ...Object.fromEntries(["activatedAt", "lastSync"].map((name) => [name, none("Time")])),
    ...Object.fromEntries(
      [
        "billableUsersCount",
        "maximumUserCount",
        "usersInLicenseCount",
        "usersOverLicenseCount",
      ].map((name) => [name, none("Int")]),
    ),
  },
);

const queryComplexity = valueType("QueryComplexity", "What a request's documents cost.", {
  score: property("Int"),
  limit: property("Int"),
});

/** What there is of the server itself. */
export const graphqlModule: GraphqlModule = {
  extend: {
    Query: {
      echo: required(
        about(
          "The text that was sent, for trying a connection.",
          property(
            "String",
            (_, { caller }: GraphContext, { text }) =>
              `${JSON.stringify(caller?.username ?? null)} says: ${text}`,
            { text: arg.required(arg.string) },
          ),
        ),
      ),
      currentLicense: property(currentLicense, (_, { tier, caller }: GraphContext) =>
        tier === "free" || !caller ? null : {},
      ),
      metadata: property(metadata, () => ({})),
      queryComplexity: property(queryComplexity, (_, { complexity }: GraphContext) => complexity),
    },
  },
  mutations: {
    echoCreate: mutation({
      about: "Give back what was sent, for trying whether a token may change something.",
      input: { messages: arg.list(arg.string), errors: arg.list(arg.string) },
      payload: { echoes: property("[String!]") },
      run: async ({ messages, errors }) => ({ echoes: messages ?? [], errors: errors ?? [] }),
    }),
  },
};
