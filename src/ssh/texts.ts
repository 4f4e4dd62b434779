const RULE = "=".repeat(72);

/** Lines as gitlab-shell writes them, so that Git shows them as those of the server. */
const remote = (lines: readonly string[]) => lines.map((line) => `remote: ${line}\n`).join("");

/** What the client shows of an error. */
export function errorText(message: string): string {
  const lines = `ERROR: ${message}`.split("\n");
  return remote(["", RULE, "", ...lines, "", RULE, ""]);
}

/** What the client shows besides what it asked for. */
export function noticeText(message: string): string {
  return remote(["", ...message.trim().split("\n"), ""]);
}
