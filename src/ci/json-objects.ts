import type { Budget } from "../turns/budget.ts";
import type { ReportError } from "./xml.ts";

/** How objects follow each other in a text of JSON. */
interface Following {
  /** Whether they are the items of a list; otherwise one comes after another, as in files that are put together. */
  readonly areListed: boolean;
  /** The most characters of one. */
  readonly most: number;
  /** Makes the error about what is none. */
  readonly malformed: (reason: string) => ReportError;
}

/** The objects in a text of JSON, each as text, which is not parsed yet. @throws ReportError if there is something else */
export async function* objectsIn(
  text: AsyncIterable<string>,
  { areListed, most, malformed }: Following,
  budget: Budget,
): AsyncGenerator<string> {
  let [depth, item, isText, isEscaped] = [areListed ? 0 : 1, "", false, false];
  let state: "before" | "item" | "between" | "after" = areListed ? "before" : "item";
  for await (const part of text) {
    let start = 0;
    for (let at = 0; at < part.length; at += 1) {
      const sign = part[at] as string;
      if (depth > 1) {
        if (isText) {
          if (isEscaped) isEscaped = false;
          else if (sign === "\\") isEscaped = true;
          else if (sign === '"') isText = false;
        } else if (sign === '"') isText = true;
        else if (sign === "{" || sign === "[") depth += 1;
        else if (sign === "}" || sign === "]") depth -= 1;
        if (depth > 1) continue;
        yield item + part.slice(start, at + 1);
        [item, state] = ["", areListed ? "between" : "item"];
        if (budget.isDue) await budget.pause();
        continue;
      }
      if (/\s|\uFEFF/.test(sign)) continue;
      if (state === "before" && sign === "[") [depth, state] = [1, "item"];
      else if (sign === "{" && state === "item") [depth, start] = [2, at];
      else if (sign === "," && state === "between") state = "item";
      else if (sign === "]" && areListed && (state === "item" || state === "between")) {
        [depth, state] = [0, "after"];
      } else throw malformed(`unexpected ${JSON.stringify(sign)}`);
    }
    if (depth > 1) item += part.slice(start);
    if (item.length > most) throw malformed("a part is too long");
    if (budget.isDue) await budget.pause();
  }
  if (depth > 1 || state !== (areListed ? "after" : "item")) throw malformed("unexpected end");
}
