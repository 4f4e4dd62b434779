import { markedLines } from "../../core/mentions.ts";

/** A command in a text, such as `/label ~bug`. */
export interface Command {
  /** In lower case, without the slash. */
  readonly name: string;
  /** The rest of its line; `""` for nothing. */
  readonly argument: string;
}

/** A text and the commands that were cut out of it. */
export interface Parsed<Text = string> {
  readonly text: Text;
  readonly commands: readonly Command[];
}

/** How many commands of one request are performed. Further ones stay in their text. */
export const MAX_COMMANDS = 50;

const COMMAND = /^\/([a-z_]{1,30})(?:[ \t]+(.*))?$/i;

/**
 * Cuts the commands out of a text: lines that begin with a slash and the name of a command, outside of code and of quotes
 * of several lines. Takes time linear in the length of the text.
 *
 * @param isKnown whether a command has this name; other lines stay
 * @param most how many are cut out
 */
export function parse(
  text: string,
  isKnown: (name: string) => boolean,
  most = MAX_COMMANDS,
): Parsed {
  if (!text.includes("/")) return { text, commands: [] };
  const commands: Command[] = [];
  const kept: string[] = [];
  let isQuoted = false;
  for (const { line, isCode } of markedLines(text)) {
    if (!isCode && line.trim() === ">>>") isQuoted = !isQuoted;
    const isText = isCode || isQuoted || commands.length === most || line[0] !== "/";
    const [, written, argument = ""] = (isText ? null : COMMAND.exec(line.trimEnd())) ?? [];
    const name = written?.toLowerCase();
    if (name !== undefined && isKnown(name)) commands.push({ name, argument: argument.trim() });
    else kept.push(line);
  }
  return commands.length === 0 ? { text, commands } : { text: kept.join("\n").trim(), commands };
}
