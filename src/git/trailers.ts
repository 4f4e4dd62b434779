/** A line at the end of a message, such as `Signed-off-by: Ada <ada@example.com>`. */
export type Trailer = readonly [key: string, value: string];

/** What Git itself writes. With a line like these, others need not be trailers. */
const OWN = ["Signed-off-by: ", "(cherry picked from commit "];
const TRAILER = /^([A-Za-z0-9-]+)[ \t]*:(.*)$/;

/** The trailers of a commit's message, as git-interpret-trailers(1) finds them: the last paragraph, if it has nothing else. */
export function trailersOf(message: string): Trailer[] {
  const lines = message.trimEnd().split("\n");
  let first = lines.length;
  while (first > 0 && (lines[first - 1] as string).trim() !== "") first -= 1;
  // The first paragraph is the title.
  if (first === 0 || lines.slice(0, first).every((line) => line.trim() === "")) return [];
  const found: [string, string][] = [];
  let isOwn = false;
  let counted = 0;
  let others = 0;
  for (const line of lines.slice(first)) {
    const last = found.at(-1);
    const [, key, value] = TRAILER.exec(line) ?? [];
    if (OWN.some((beginning) => line.startsWith(beginning))) isOwn = true;
    if (/^[ \t]/.test(line) && last) last[1] += ` ${line.trim()}`;
    else if (key !== undefined && value !== undefined) found.push([key, value.trim()]);
    else if (!line.startsWith(OWN[1] as string)) {
      others += 1;
      continue;
    }
    counted += 1;
  }
  return others === 0 || (isOwn && 3 * counted >= others) ? found : [];
}
