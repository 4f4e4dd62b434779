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
  let found = "";
  let isWithin = false;
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() !== "") {
      found += `${isWithin ? "<br>\n" : found === "" ? "<p>" : "\n<p>"}${escaped(line)}`;
      isWithin = true;
    } else if (isWithin) {
      found += "</p>";
      isWithin = false;
    }
  }
  return isWithin ? `${found}</p>` : found;
}
