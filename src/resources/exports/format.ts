import type { Value } from "../../store/port.ts";

// An archive is a gzip'd text with a JSON value per line (docs/exports.md).

/** What has an archive. */
export type Kind = "project" | "group";

/** A project or group that is archived, or that an archive is read into. */
export interface Place {
  readonly kind: Kind;
  readonly id: number;
}

/** What the first line of an archive says it is. */
export const FORMATS = { project: "pm-api project", group: "pm-api group" } as const;

/** In which format an archive is written: ours, which has everything, or the one that GitLab reads. */
export const WRITTEN = ["pm-api", "gitlab"] as const;
export type Format = (typeof WRITTEN)[number];

/** The version of the format. Tables and columns may come and go without a new one. */
export const VERSION = 1;

/** A column that says whether a row is one of the project's groups. */
export const INHERITED = "inherited";

/** The column that says of which group a row is. */
export const GROUP = "namespace_id";

/** Bytes that one line has at most. */
export const CHUNK = 64 * 1024;

/** The longest line that is read, in bytes: the longest row there can be, with each character escaped. */
export const MAX_LINE = 16 * 1024 * 1024;

/** The most lines of an archive that is read. */
export const MAX_LINES = 2_000_000;

/** How many times its size an archive may grow to, unzipped. */
export const MAX_GROWTH = 200;

/** A line of an archive: what begins, or, as an array, a row of the table that began last. */
export type Line =
  | {
      readonly format: string;
      readonly version: number;
      readonly exported_at: number;
      /** What it has, if that is not all. */
      readonly relation?: string;
    }
  | { readonly project: Readonly<Record<string, Value>> }
  | { readonly table: string; readonly columns: readonly string[] }
  | { readonly person: readonly [id: number, username: string] }
  | {
      readonly upload: {
        readonly secret: string;
        readonly file_name: string;
        readonly created_at: number;
        readonly uploader_id: number | null;
      };
    }
  /** An object of Git LFS, by the SHA-256 of its content. */
  | { readonly lfs: string }
  /** The picture of the project, or of a group. */
  | { readonly avatar: { readonly file_name: string; readonly namespace_id?: number } }
  | {
      readonly repository: "code" | "wiki";
      readonly refs: readonly (readonly [name: string, oid: string])[];
      /** The default branch of a wiki, if it is not the usual one. */
      readonly head: string | null;
      /** The group whose wiki it is. */
      readonly namespace_id?: number;
    }
  /** A part of the file or pack that began last, in base64. */
  | { readonly bytes: string }
  | readonly Value[]
  /** The last line, without which an archive is cut short. */
  | { readonly end: true };

/** An archive that can't be imported; the message says why. */
export class ArchiveError extends Error {
  // A getter: classes with fields lose their own name in the CommonJS build.
  override get name() {
    return "ArchiveError" as const;
  }
}
