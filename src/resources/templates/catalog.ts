import type { License } from "./licenses.ts";

/** A text to begin a file with. */
export interface Template {
  readonly name: string;
  readonly content: string;
}

/** A kind of templates that everybody has. */
interface Kind {
  /** What an error calls one. */
  readonly one: string;
  /** Its templates by their names, which are loaded when somebody asks for them. */
  load(): Promise<Readonly<Record<string, string>>>;
}

/** The kinds of templates by the names in paths, except licences. */
export const KINDS = {
  dockerfiles: {
    one: "dockerfile",
    load: async () => (await import("./dockerfiles.ts")).DOCKERFILES,
  },
  gitignores: {
    one: "gitignore",
    load: async () => (await import("./gitignores.ts")).GITIGNORES,
  },
  gitlab_ci_ymls: {
    one: "gitlab_ci_yml",
    load: async () => (await import("./ci.ts")).CI_FILES,
  },
} as const satisfies Record<string, Kind>;

/** A kind of templates, except licences. */
export type KindName = keyof typeof KINDS;

/** The names of the templates of a kind. */
export const namesOf = async (kind: KindName) => Object.keys(await KINDS[kind].load());

/** A template by its name, or `undefined`. */
export async function find(kind: KindName, name: string): Promise<Template | undefined> {
  const templates = await KINDS[kind].load();
  const content = Object.hasOwn(templates, name) ? templates[name] : undefined;
  return content === undefined ? undefined : { name, content };
}

/** All licences. */
export const licenses = async (): Promise<readonly License[]> =>
  (await import("./licenses.ts")).LICENSES;

/** What is filled into a licence. */
export interface Filling {
  readonly year: number;
  readonly project: string | undefined;
  readonly fullname: string | undefined;
}

/** A licence with the year, the project and who has the copyright, as far as they are known. */
export function filled(license: License, { year, project, fullname }: Filling): License {
  let { content } = license;
  content = content.replace(/[[<{](?:year|yyyy)[\]>}]/gi, String(year));
  if (project !== undefined) {
    const place = /[[<{](?:project|description|one line [^<>[\]{}]{1,200} what it does\.)[\]>}]/gi;
    content = content.replace(place, () => project);
  }
  if (fullname !== undefined) {
    const place = /[[<{](?:fullname|name of (?:author|copyright owner))[\]>}]/gi;
    content = content.replace(place, () => fullname);
  }
  return { ...license, content };
}
