import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** URL of the tests' PostgreSQL server, without a database. */
    postgresUrl: string;
  }
}

/** Starts a real PostgreSQL server in its own folder for the duration of the tests. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  project.provide("postgresUrl", server.url);
  return server.remove;
}
