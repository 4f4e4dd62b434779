declare namespace NodeJS {
  interface Process {
    getBuiltinModule(id: "bun:sqlite"): typeof import("bun:sqlite");
    getBuiltinModule(id: "node:sqlite"): typeof import("node:sqlite");
  }
}

/** Of `bun:sqlite`, what is used of it: Bun's own types would change Node's. */
declare module "bun:sqlite" {
  type Value = import("../port.ts").Value;

  export interface Statement {
    readonly columnNames: string[];
    values(...values: Value[]): Value[][];
    run(...values: Value[]): { changes: number };
    finalize(): void;
  }

  export class Database {
    constructor(file: string, options: { readonly: true } | { create: true });
    readonly inTransaction: boolean;
    prepare(sql: string): Statement;
    close(): void;
  }
}

/** Of `node:sqlite`, what is used of it: Node 20 has none. */
declare module "node:sqlite" {
  type Value = import("../port.ts").Value;

  export interface StatementSync {
    columns(): { name: string }[];
    setReturnArrays(enabled: boolean): void;
    setReadBigInts(enabled: boolean): void;
    all(...values: Value[]): Value[][];
    run(...values: Value[]): { changes: number | bigint };
  }

  export class DatabaseSync {
    constructor(file: string, options: { readOnly: boolean });
    readonly isTransaction: boolean;
    prepare(sql: string): StatementSync;
    close(): void;
  }
}
