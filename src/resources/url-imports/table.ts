import type { SealedColumn } from "../../core/sealed.ts";

/** What the credentials of an import by URL are encrypted for. */
export const purposeOf = (projectId: number) => `import ${projectId}`;

/** Where these are. */
export const IMPORT_CREDENTIALS: SealedColumn = {
  table: "project_imports",
  id: "project_id",
  column: "credentials",
  purpose: "'import ' || project_id",
};
