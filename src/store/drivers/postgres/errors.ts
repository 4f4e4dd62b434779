import pg from "pg";
import { ConstraintError, UnavailableError } from "../../port.ts";

const RULES: Record<string, ConstraintError["rule"]> = {
  "23505": "unique",
  "23503": "foreign key",
  "23502": "not null",
  "23514": "check",
};

/** Serialization failure (if the server enforces that level) and deadlock: the same work may succeed if run again. */
export const RETRYABLE = new Set(["40001", "40P01"]);

/** A statement behind one that failed, in the same transaction. */
export const BEHIND_FAILED = "25P02";

/**
 * Temporary failures (PostgreSQL's documentation, appendix A): lost connection, out of resources, locked, ended by an
 * operator or a timeout, system error, a server that has become a standby.
 */
const PASSING = /^(08|53|55P03|57|58|25006|25P03)/;

/** Runs a query, translating the driver's errors into those of `port.ts`. */
export async function sent<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (error instanceof UnavailableError) throw error;
    // Values were checked before, so any error not from the server is a failure of the connection.
    if (!(error instanceof pg.DatabaseError)) throw unavailable(error);
    const rule = RULES[codeOf(error)];
    if (rule) throw new ConstraintError(rule, error.message, { cause: error });
    throw PASSING.test(codeOf(error)) ? unavailable(error) : error;
  }
}

/** The error of work that can't be done now, for the reason of another error. */
export function unavailable(cause: unknown): UnavailableError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UnavailableError(`the database does not answer: ${reason}`, { cause });
}

/** PostgreSQL's code of an error; `""` for other errors. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}
