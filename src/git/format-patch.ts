import { Budget } from "../turns/budget.ts";
import { type Commit, readCommit, type Signature, timeOf } from "./commits.ts";
import { changesBetween } from "./compared.ts";
import { rawDiff } from "./raw-diff.ts";
import type { Repository } from "./repository.ts";

/** The bytes of text that an encoded word has room for in a line (RFC 2047 §2). */
const WORD_BYTES = 42;

/**
 * Commits as mails that `git am` makes commits of again, like those of git-format-patch(1), but without a table of the
 * changed files.
 *
 * @param commits their numbers, the oldest first; merges are left out
 * @param signal ends the work
 */
export async function* formatPatches(
  repository: Repository,
  commits: readonly number[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { graph } = repository;
  const budget = new Budget(signal);
  const shown = commits.filter((commit) => graph.parentsOf(commit).length < 2);
  for (const [at, number] of shown.entries()) {
    const place = shown.length > 1 ? ` ${at + 1}/${shown.length}` : "";
    const commit = await readCommit(repository, number);
    yield Buffer.from(`${headOf(commit, `[PATCH${place}] `)}---\n\n`);
    const changes = await changesBetween(repository, graph.parentsOf(number)[0], number, budget);
    yield* rawDiff(repository, changes, signal);
    yield Buffer.from("-- \npm-api\n\n");
  }
}

/** The mail of a commit, until its changes. */
function headOf({ id, author, message }: Commit, prefix: string): string {
  const [paragraph = "", ...rest] = message.trim().split(/\n[\t ]*\n/);
  const subject = encoded(prefix + paragraph.replaceAll("\n", " "));
  const body = rest.join("\n\n").trimStart();
  const lines = [
    `From ${id} Mon Sep 17 00:00:00 2001`,
    `From: ${nameOf(author)} <${author.email}>`,
    `Date: ${dateOf(author)}`,
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=UTF-8",
    "Content-Transfer-Encoding: 8bit",
  ];
  return `${lines.join("\n")}\n\n${body && `${body}\n`}`;
}

/** A name as a header has it: quoted if it has characters that would end it (RFC 5322 §3.2.3). */
function nameOf({ name }: Signature): string {
  if (/[^ -~]/.test(name)) return encoded(name);
  return /^[\w !#$%&'*+/=?^`{|}~-]*$/.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`;
}

/** Text as a header has it: in encoded words, unless it is ASCII (RFC 2047). */
function encoded(text: string): string {
  if (!/[^ -~]/.test(text)) return text;
  const words: string[] = [];
  let word = "";
  for (const character of text) {
    if (Buffer.byteLength(word + character) > WORD_BYTES) {
      words.push(word);
      word = "";
    }
    word += character;
  }
  const inBase64 = (part: string) => `=?UTF-8?B?${Buffer.from(part).toString("base64")}?=`;
  return [...words, word].map(inBase64).join("\n ");
}

/** When a commit was made, as in mails: `Thu, 27 Feb 2014 10:14:56 +0200` (RFC 5322 §3.3). */
function dateOf(signature: Signature): string {
  const [, local = "", hours = "", minutes = ""] =
    /^(.*)\.000([+-]\d\d):(\d\d)$/.exec(timeOf(signature)) ?? [];
  return `${new Date(`${local}Z`).toUTCString().replace(" GMT", "")} ${hours}${minutes}`;
}
