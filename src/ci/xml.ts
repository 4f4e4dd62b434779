import type { SAXOptions, Tag } from "sax";
import type { Budget } from "../turns/budget.ts";

/** A report that can't be read; the message says why. */
export class ReportError extends Error {}

/** Characters that are read at once. */
const SLICE = 4096;
const MOST_DEPTH = 256;
const MOST_ATTRIBUTES = 1000;

/** What reads the elements of a report. */
export interface ElementReader {
  open(tag: Tag): void;
  close(): void;
  note(text: string): void;
}

/**
 * Reads XML, in time that is linear in its length; no entities are expanded but those of XML itself. Several documents may
 * follow each other.
 *
 * @param malformed makes the error of a mistake
 * @throws ReportError
 */
export async function readXml(
  text: AsyncIterable<string>,
  reader: ElementReader,
  budget: Budget,
  malformed: (reason: string) => ReportError,
): Promise<void> {
  const { default: sax } = await import("sax");
  const options: SAXOptions & { strictEntities: boolean } = { strictEntities: true };
  const parser = sax.parser(true, options);
  let depth = 0;
  let attributes = 0;
  let isEmpty = true;
  parser.onerror = ({ message }) => {
    const [reason] = message.split("\n");
    throw malformed(`${parser.line + 1}:${parser.column}: FATAL: ${reason}`);
  };
  parser.onattribute = () => {
    attributes += 1;
    if (attributes > MOST_ATTRIBUTES) throw malformed("too many attributes");
  };
  parser.onopentag = (tag) => {
    depth += 1;
    if (depth > MOST_DEPTH) throw malformed("too many elements in each other");
    attributes = 0;
    isEmpty = false;
    reader.open(tag as Tag);
  };
  parser.onclosetag = () => {
    depth -= 1;
    reader.close();
  };
  parser.ontext = (part) => reader.note(part);
  parser.oncdata = (part) => reader.note(part);
  for await (const part of text) {
    for (let at = 0; at < part.length; at += SLICE) {
      try {
        parser.write(part.slice(at, at + SLICE).replaceAll("\uFEFF", ""));
      } catch (error) {
        if (error instanceof ReportError) throw error;
        // The parser itself stumbles over an attribute that is called `hasOwnProperty`.
        throw malformed("an attribute has a name that can't be read");
      }
      if (budget.isDue) await budget.pause();
    }
  }
  parser.close();
  if (isEmpty) throw malformed("1:1: FATAL: Document is empty");
}
