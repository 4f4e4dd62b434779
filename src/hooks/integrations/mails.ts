import type { Integration } from "./catalogue.ts";
import { type Link, messageOf, type Told, write } from "./messages.ts";
import type { Settings } from "./senders.ts";

/** A mail about something that happened. */
export interface IntegrationMail {
  readonly subject: string;
  readonly text: string;
}

/** Characters of a text: it is kept until all recipients have it. */
const MOST_CHARACTERS = 32_768;
/** Files of each commit that are named. */
const MOST_FILES = 20;

/** The addresses in a list of recipients, each once. */
const recipientsIn = (text: unknown): string[] => [
  ...new Set(
    String(text ?? "")
      .split(/[\s,]+/)
      .filter((one) => one !== ""),
  ),
];

/** Who gets mails from an integration; `undefined` if it sends none. */
export const recipientsOf = ({ sender }: Integration, settings: Settings) =>
  sender === "pipelineMail" || sender === "pushMail"
    ? recipientsIn(settings["recipients"])
    : undefined;

const MARKS = { added: "+", modified: "~", removed: "-" } as const;

/** The files that a commit changes, one a line. */
function filesOf(commit: Told["body"]): string[] {
  const files = Object.entries(MARKS).flatMap(([kind, mark]) =>
    ((commit[kind] ?? []) as string[]).map((path) => `  ${mark} ${path}`),
  );
  const left = files.length - MOST_FILES;
  return [...files.slice(0, MOST_FILES), ...(left > 0 ? [`  and ${left} more`] : [])];
}

function subjectOf({ event, body }: Told): string {
  const { project } = body;
  const attributes = body["object_attributes"];
  if (event === "pipeline") {
    const how = attributes.status === "success" ? "Successful" : "Failed";
    const commit = String(attributes.sha).slice(0, 8);
    return `${project.path_with_namespace} | ${how} pipeline for ${attributes.ref} | ${commit}`;
  }
  const name = String(body["ref"]).split("/").slice(2).join("/");
  const last = (body["commits"] as Told["body"][]).at(-1);
  return `[${project.path_with_namespace}][${name}] ${last?.["title"] ?? "Pushed"}`;
}

/** The mail about something that happened; `undefined` for none. */
export function mailAbout(told: Told): IntegrationMail | undefined {
  const message = messageOf(told);
  if (!message) return undefined;
  const plain = (words: readonly (string | Link)[]) =>
    write(
      words,
      ({ text }) => text,
      (text) => text,
    );
  const links = (words: readonly (string | Link)[]) =>
    words.flatMap((part) => (typeof part === "string" ? [] : [part.url]));
  const commits = told.event === "push" ? (told.body["commits"] as Told["body"][]) : [];
  const lines = [
    `${plain(message.summary)}.`,
    ...links(message.summary).slice(-1),
    ...message.detail.flatMap((words, at) => {
      const commit = commits[at];
      return ["", plain(words), ...links(words), ...(commit ? filesOf(commit) : [])];
    }),
  ];
  return {
    subject: subjectOf(told).replace(/\s+/g, " ").slice(0, 255),
    text: lines.join("\n").slice(0, MOST_CHARACTERS),
  };
}
