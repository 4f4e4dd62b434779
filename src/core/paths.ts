import { invalid } from "./errors.ts";

const SEGMENT = /^[a-z0-9_][a-z0-9_.-]*$/i;

/** Names of files, which GitLab has at its root. */
const FILES = /^(apple-touch-icon|header_logo_).*\.png$/;

/** What users and groups at the top can't be called, as in GitLab: the API and pages are there. */
export const TOP_WORDS: readonly string[] =
  `- .well-known 404.html 422.html 500.html 502.html 503.html abuse_reports admin api
  apple-touch-icon.png assets autocomplete ci dashboard deploy.html explore favicon.ico favicon.png files groups health_check
  help import invites jwt login oauth profile projects public robots.txt s search sent_notifications sitemap sitemap.xml
  sitemap.xml.gz slash-command-logo.png snippets u unsubscribes uploads users v2`.split(/\s+/);

/** What projects and subgroups can't be called, as in GitLab: pages of the group or project above are there. */
export const NESTED_WORDS: readonly string[] =
  `- badges blame blob builds commits create create_dir edit files find_file new preview raw refs tree update wikis`.split(
    " ",
  );

/** Whether no user and no group at the top can have this path. */
export function isReserved(segment: string): boolean {
  const word = segment.toLowerCase();
  return TOP_WORDS.includes(word) || FILES.test(word);
}

/** Endings that no segment can have: the addresses of repositories and feeds have them. */
const ENDINGS = /\.(git|atom)$/i;

/** Why a project can't have a path, without the namespace before it; `undefined` if it can. */
export function problemOfProjectPath(path: string): string | undefined {
  if (!SEGMENT.test(path) || ENDINGS.test(path)) {
    return "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-', end in '.git' or end in '.atom'";
  }
  if (NESTED_WORDS.includes(path.toLowerCase())) return reserved(path);
  // GitLab refuses it once there is a project with the rest of the path.
  return /\.wiki$/i.test(path) ? "cannot end in '.wiki': that is the address of a wiki" : undefined;
}

const reserved = (segment: string) => `${segment} is a reserved name`;

/**
 * Checks one segment of the path of a user or group.
 *
 * @param options `top`: whether it is a first segment, where other words are reserved; `attribute`: its name in errors
 * @throws ApiError 400
 */
export function requirePath(
  segment: string,
  { top = false, attribute = "path" }: { top?: boolean; attribute?: string } = {},
): void {
  if (!SEGMENT.test(segment) || ENDINGS.test(segment)) {
    throw invalid({
      [attribute]: [
        "can contain only letters, digits, '_', '-' and '.'. Cannot start with '-' or end in '.git' or '.atom'.",
      ],
    });
  }
  if (top ? isReserved(segment) : NESTED_WORDS.includes(segment.toLowerCase())) {
    throw invalid({ [attribute]: [reserved(segment)] });
  }
}

/** As in GitLab; far below what a PostgreSQL index can hold. */
const MAX_FULL_PATH = 255;

/**
 * Checks the length of a full path: the path of a group or project, with the paths of the groups above it.
 *
 * @param attribute the name in errors of the segment that makes it too long
 * @throws ApiError 400
 */
export function requireFullPath(fullPath: string, attribute = "path"): void {
  if (fullPath.length > MAX_FULL_PATH) {
    throw invalid({
      [attribute]: [`makes the full path too long (maximum is ${MAX_FULL_PATH} characters)`],
    });
  }
}
