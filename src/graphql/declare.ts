// How the GraphQL side of a resource is declared.
export * from "./declare/args.ts";
export * from "./declare/declarations.ts";
export * from "./declare/fields.ts";
export * from "./declare/mutations.ts";
export * from "./declare/permissions.ts";
export * from "./declare/types.ts";
export { GraphError, notAvailable } from "./errors.ts";
