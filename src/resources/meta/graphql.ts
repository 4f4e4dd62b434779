import { REVISION, VERSION } from "../../core/version.ts";
import {
  about,
  arg,
  type Face,
  type GraphContext,
  mutation,
  property,
  required,
  valueType,
} from "../../graphql/declare.ts";

const kas = valueType("Kas", "GitLab's agent server for Kubernetes, which there is none of.", {
  enabled: required(property("Boolean", () => false)),
  version: property("String", () => null),
  externalUrl: property("String", () => null),
});

const metadata = valueType("Metadata", "The server's version.", {
  version: required(property("String", () => VERSION)),
  revision: required(property("String", () => REVISION)),
  enterprise: required(property("Boolean", () => true)),
  kas: required(property(kas, () => ({}))),
});

const queryComplexity = valueType("QueryComplexity", "What a request's documents cost.", {
  score: property("Int"),
  limit: property("Int"),
});

/** What there is of the server itself. */
export const face: Face = {
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
