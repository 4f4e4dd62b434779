import type { Caller } from "../../core/access/caller.ts";
import type { Expression } from "../../core/expressions.ts";
import { compareTrees, textOf } from "../../git/changes.ts";
import { type Commit, commitNumber, readCommit } from "../../git/commits.ts";
import { type Objects, StoredObjects, treeNameOf } from "../../git/contents.ts";
import { BLOB } from "../../git/objects.ts";
import type { Push } from "../../git/push.ts";
import { BRANCHES, TAGS } from "../../git/refs.ts";
import type { Repository } from "../../git/repository.ts";
import type { Reader } from "../../store/port.ts";
import type { Budget } from "../../turns/budget.ts";
import type { Via } from "../protected-refs/abilities.ts";
import { CONFIRMED_ADDRESSES, isEmailTaken } from "../users/queries.ts";
import { findRule, type PushRule } from "./queries.ts";

/** Who makes a push, and what with. */
export interface Pusher {
  readonly caller: Pick<Caller, "id">;
  readonly via: Via;
}

/** New commits of one push that are looked at: of more, the push is refused. */
const MOST_COMMITS = 10_000;
/** Folders that are read for the files of all of them, and files that they may change. */
const MOST_FOLDERS = 100_000;
const MOST_FILES = 100_000;
/** Steps of all comparisons with patterns, some seconds, and of one, some tenths: that can't be interrupted. */
const MOST_STEPS = 128_000_000;
const LONGEST_STEPS = 4_000_000;
/** Characters of an address: longer ones fit no pattern. */
const LONGEST_ADDRESS = 1000;
const MEBIBYTE = 1024 * 1024;

const TOO_MANY =
  "The push is too large for the push rules to be checked. Push fewer commits at a time.";
const TOO_LONG = "A text is too long for the push rules to be checked";

/** Paths of files with secrets, by GitLab's list. */
const SECRETS = [
  "aws\\/credentials$",
  "(ssh|config)\\/(personal|server)_(rsa|dsa|ed25519|ecdsa|ecdsa_sk|ed25519_sk)",
  ...["rsa", "dsa", "ed25519", "ecdsa", "ecdsa_sk", "ed25519_sk"].map((kind) => `id_${kind}$`),
  "\\.(pem|key)$",
  "[._]history$",
];

/**
 * Why a project's push rule refuses a push, in the words that Git shows; `undefined` if it does not.
 *
 * @param defaultBranch its full name: it may have any
 */
export async function refusalByRule(
  db: Reader,
  projectId: number,
  push: Push,
  pusher: Pusher,
  defaultBranch: string,
  budget: Budget,
): Promise<string | undefined> {
  const rule = await findRule(db, { column: "project_id", id: projectId });
  if (!rule) return undefined;
  const check = new RuleCheck(db, rule, push, pusher, await patternsOf(rule), budget);
  try {
    return (await check.names(defaultBranch)) ?? (await check.commits());
  } catch (error) {
    if (error instanceof TooMuch) return error.message;
    throw error;
  }
}

/** Thrown where there is more to compare than a push may take: its message is why the push is refused. */
class TooMuch extends Error {}

/** An address as texts have it. */
const shown = (email: string) => email.slice(0, LONGEST_ADDRESS);

/** The patterns of a rule, by their texts. */
type Patterns = ReadonlyMap<string, Expression>;

async function patternsOf(rule: PushRule): Promise<Patterns> {
  const { readExpression } = await import("../../core/expressions.ts");
  const patterns = new Map<string, Expression>();
  const add = (text: string | null, flags = "") => {
    const read = text ? readExpression(text, flags) : undefined;
    if (text && read) patterns.set(flags + text, read);
  };
  // Only those of messages are about lines, as in GitLab.
  add(rule.commit_message_regex, "m");
  add(rule.commit_message_negative_regex, "m");
  add(rule.branch_name_regex);
  add(rule.author_email_regex);
  add(rule.file_name_regex);
  if (rule.prevent_secrets === 1) for (const text of SECRETS) add(text);
  return patterns;
}

/** A push that is compared with a rule. */
class RuleCheck {
  readonly #db: Reader;
  readonly #rule: PushRule;
  readonly #push: Push;
  readonly #pusher: Pusher;
  readonly #patterns: Patterns;
  readonly #budget: Budget;
  readonly #objects: CountedObjects;
  /** What may still be looked at. */
  #stepsLeft = MOST_STEPS;
  #filesLeft = MOST_FILES;
  /** What is known of addresses. */
  readonly #known = new Map<string, boolean>();
  readonly #own = new Map<string, boolean>();

  constructor(
    db: Reader,
    rule: PushRule,
    push: Push,
    pusher: Pusher,
    patterns: Patterns,
    budget: Budget,
  ) {
    this.#db = db;
    this.#rule = rule;
    this.#push = push;
    this.#pusher = pusher;
    this.#patterns = patterns;
    this.#budget = budget;
    this.#objects = new CountedObjects(push.repository, budget);
  }

  /** Why names of branches or tags are refused. */
  async names(defaultBranch: string): Promise<string | undefined> {
    const { deny_delete_tag, branch_name_regex: pattern } = this.#rule;
    for (const { name, to } of this.#push.changes) {
      if (this.#budget.isDue) await this.#budget.pause();
      if (name.startsWith(TAGS)) {
        const isDenied = to === undefined && deny_delete_tag === 1 && this.#pusher.via === "push";
        if (isDenied) return "You cannot delete a tag";
      }
      if (!name.startsWith(BRANCHES) || to === undefined || name === defaultBranch) continue;
      if (pattern && !this.#fits(pattern, name.slice(BRANCHES.length))) {
        return `Branch name does not follow the pattern '${pattern}'`;
      }
    }
    return undefined;
  }

  /** Why new commits, or files of them, are refused. */
  async commits(): Promise<string | undefined> {
    const commits = newCommits(this.#push);
    if (commits.length > MOST_COMMITS) return TOO_MANY;
    for (const number of commits) {
      if (this.#budget.isDue) await this.#budget.pause();
      const reason = await this.#commit(await readCommit(this.#push.repository, number));
      if (reason !== undefined) return reason;
    }
    if (!this.#looksAtFiles()) return undefined;
    for (const number of commits) {
      const reason = await this.#files(await readCommit(this.#push.repository, number), number);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  /** @throws TooMuch */
  #fits(pattern: string, text: string, flags = ""): boolean {
    const expression = this.#patterns.get(flags + pattern);
    if (!expression) return true;
    const steps = expression.steps * text.length;
    if (steps > LONGEST_STEPS) throw new TooMuch(TOO_LONG);
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new TooMuch(TOO_MANY);
    return expression.fits(text);
  }

  /** What is wrong with a commit, in GitLab's order. */
  async #commit({ message, author, committer, signature }: Commit): Promise<string | undefined> {
    const rule = this.#rule;
    const { commit_message_regex: wanted, commit_message_negative_regex: forbidden } = rule;
    if (wanted && !this.#fits(wanted, message, "m")) {
      return `Commit message does not follow the pattern '${wanted}'`;
    }
    if (forbidden && this.#fits(forbidden, message, "m")) {
      return `Commit message contains the forbidden pattern '${forbidden}'`;
    }
    // GitLab makes exceptions for what it has committed itself: whoever asked for it is known.
    const isOwn = this.#pusher.via !== "push";
    if (rule.reject_non_dco_commits === 1 && !/^Signed-off-by:[^<\n]+<[^>\n]+>/m.test(message)) {
      return "Commit message must contain a DCO signoff";
    }
    const { author_email_regex: addresses } = rule;
    for (const [who, { email }] of Object.entries({ Committer: committer, Author: author })) {
      if (!addresses) break;
      if (email.length > LONGEST_ADDRESS || !this.#fits(addresses, email)) {
        return `${who}'s email '${shown(email)}' does not follow the pattern '${addresses}'`;
      }
    }
    if (rule.member_check === 1) {
      for (const [who, { email }] of Object.entries({ Author: author, Committer: committer })) {
        if (!(await this.#isKnown(email))) {
          return `${who} '${shown(email)}' is not a member of team`;
        }
      }
    }
    if (rule.commit_committer_check === 1 && !isOwn && !(await this.#isOwn(committer.email))) {
      return (
        `You cannot push commits for '${shown(committer.email)}'. ` +
        "You can only push commits if the committer email is one of your own verified emails."
      );
    }
    if (rule.commit_committer_name_check === 1 && !isOwn) {
      const sql = "select 1 from users where id = ? and name = ?";
      const [found] = await this.#db.rows(sql, [this.#pusher.caller.id, committer.name]);
      if (!found) return "Your git username is inconsistent with GitLab account name";
    }
    return rule.reject_unsigned_commits === 1 && !isOwn && signature === undefined
      ? "Commit must be signed with a GPG key"
      : undefined;
  }

  /** Whether an address is that of a user. */
  async #isKnown(email: string): Promise<boolean> {
    const known = this.#known.get(email) ?? (await isEmailTaken(this.#db, email));
    this.#known.set(email, known);
    return known;
  }

  /** Whether an address is one of who makes the push. */
  async #isOwn(email: string): Promise<boolean> {
    const known = this.#own.get(email);
    if (known !== undefined) return known;
    const sql = `select 1 from (${CONFIRMED_ADDRESSES}) a where a.user_id = ? and a.email = lower(?)`;
    const found = await this.#db.rows(sql, [this.#pusher.caller.id, email]);
    this.#own.set(email, found.length > 0);
    return found.length > 0;
  }

  /** Whether a commit may be refused for its files. Most pushes have none that is too large. */
  #looksAtFiles(): boolean {
    const { file_name_regex, prevent_secrets, max_file_size } = this.#rule;
    if (file_name_regex || prevent_secrets === 1) return true;
    const pack = this.#push.staged?.pack;
    if (!pack || max_file_size === 0) return false;
    return pack.sizes.some(
      (size, at) => size > max_file_size * MEBIBYTE && pack.types[at] === BLOB,
    );
  }

  /** What is wrong with the files that a commit adds or changes: of a merge, what none of its parents has. */
  async #files({ tree }: Commit, number: number): Promise<string | undefined> {
    const { repository } = this.#push;
    const before = [...repository.graph.parentsOf(number)].map((parent) =>
      treeNameOf(repository, parent),
    );
    let added = await this.#added(before[0], tree);
    for (const other of before.slice(1)) {
      const further = new Set((await this.#added(other, tree))?.map(({ path }) => path));
      added = added?.filter(({ path }) => further.has(path));
    }
    if (!added) return TOO_MANY;
    const { file_name_regex: pattern, prevent_secrets, max_file_size: most } = this.#rule;
    const patterns = [...(pattern ? [pattern] : []), ...(prevent_secrets === 1 ? SECRETS : [])];
    for (const { path, oid, isNew } of added) {
      if (this.#budget.isDue) await this.#budget.pause();
      const name = textOf(path);
      const prohibited = isNew && patterns.find((one) => this.#fits(one, name));
      if (prohibited) {
        return `File name ${name} was prohibited by the pattern "${prohibited}".`;
      }
      const object = repository.findHex(oid);
      if (most > 0 && object >= 0 && repository.sizeOf(object) > most * MEBIBYTE) {
        return `File ${name} is larger than the allowed size of ${most} MB`;
      }
    }
    return undefined;
  }

  /** The files that one tree adds to another or changes; `undefined` if they are too many. */
  async #added(from: string | undefined, to: string) {
    const { list, isCut } = await compareTrees(this.#objects, from, to, this.#filesLeft);
    this.#filesLeft -= list.length;
    if (isCut || this.#filesLeft < 0 || this.#objects.left < 0) return undefined;
    return list.flatMap(({ from: old, to: file }) =>
      file ? [{ path: file.path, oid: file.oid, isNew: old === undefined }] : [],
    );
  }
}

/** The objects of a repository, of which some number can be read. Then folders look empty. */
class CountedObjects implements Objects {
  readonly budget: Budget;
  readonly #objects: StoredObjects;
  /** How many more; negative once they were not enough. */
  left = MOST_FOLDERS;

  constructor(repository: Repository, budget: Budget) {
    this.budget = budget;
    this.#objects = new StoredObjects(repository, budget);
  }

  sizeOf(oid: string): number {
    return this.#objects.sizeOf(oid);
  }

  async read(oid: string) {
    this.left -= 1;
    const object = await this.#objects.read(oid);
    return this.left < 0 ? { ...object, data: Buffer.alloc(0) } : object;
  }
}

/** The commits, by their numbers, that the repository did not have before a push. */
function newCommits({ staged, repository }: Push): number[] {
  if (!staged) return [];
  const { oids, commits } = staged.pack;
  const start = repository.startOf(repository.list.findIndex(({ id }) => id === staged.pack.id));
  const numbers: number[] = [];
  for (const entry of commits) {
    // What deltas are made of is in the pack, too.
    const oid = oids.bytesOf(entry);
    if (repository.findOldest(oid) < start) continue;
    const number = commitNumber(repository, oid.toString("hex"));
    if (number !== undefined) numbers.push(number);
    if (numbers.length > MOST_COMMITS) break;
  }
  return numbers;
}
