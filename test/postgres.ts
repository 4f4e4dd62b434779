import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where the tests' PostgreSQL server is, without a database. */
    postgresUrl: string;
  }
}

/** Starts a real PostgreSQL server in a folder of its own, for as long as the tests run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide("postgresUrl", server.url);
  return server.remove;
}
