const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A text as HTML, also in attributes with quotes: nothing in it is markup. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** A text of several lines as HTML: blank lines divide its paragraphs. */
export function paragraphs(text: string): string {
  const found: string[][] = [[]];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") found.push([]);
    else found.at(-1)?.push(escaped(line));
  }
  return found
    .filter(({ length }) => length > 0)
    .map((lines) => `<p>${lines.join("<br>\n")}</p>`)
    .join("\n");
}
