declare namespace NodeJS {
  interface Process {
    getBuiltinModule(id: "bun:sqlite"): typeof import("bun:sqlite");
    getBuiltinModule(id: "node:sqlite"): typeof import("node:sqlite");
  }
}

/** The parts of `bun:sqlite` in use: Bun's own types would change Node's. */
declare module "bun:sqlite" {
  type Value = import("../port.ts").Value;

  export interface Statement {
    readonly columnNames: string[];
    values(...values: Value[]): Value[][];
    iterate(...values: Value[]): Iterable<Record<string, Value>>;
    run(...values: Value[]): { changes: number };
    finalize(): void;
  }

  export class Database {
    constructor(file: string, options: { readonly: true } | { create: true });
    static deserialize(image: Uint8Array): Database;
    readonly inTransaction: boolean;
    prepare(sql: string): Statement;
    serialize(): Uint8Array;
    close(): void;
  }
}

/** The parts of `node:sqlite` in use: Node 20 does not have it. */
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
