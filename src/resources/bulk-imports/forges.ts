import { ArchiveError } from "../exports/format.ts";
import { bringWikiOf, type Commits, commitsOf } from "./code.ts";
import { memberRecord } from "./common.ts";
import {
  approvalsOf,
  discussionsOf,
  emojiOf,
  eventsOf,
  fromTimeline,
  type IsHere,
  issueOf,
  labelOf,
  levelOf,
  milestoneOf,
  peopleIn,
  personIn,
  releaseOf,
  requestOf,
  reviewersOf,
  versionsOf,
} from "./forge-rows.ts";
import { bringLargeFiles } from "./lfs.ts";
import {
  bringProjectCode,
  bringReleases,
  countAll,
  finishProject,
  issueRecord,
  requestRecord,
} from "./projects.ts";
import {
  type Details,
  labelRow,
  listIn,
  memberRow,
  milestoneRow,
  numberIn,
  textIn,
  toldIn,
} from "./rows.ts";
import type { Bringing } from "./running.ts";
import { SourceError, type Told } from "./source.ts";

/** Brings what a repository of GitHub, Gitea or Forgejo has. @param told the repository, as that server shows it */
export async function bringRepository(bringing: Bringing, told: Told): Promise<void> {
  const forge = new Forge(bringing, told);
  await bringing.part("repository", () => bringProjectCode(bringing, told));
  await bringLargeFiles(bringing);
  await bringing.part("wiki", () => forge.wiki());
  await forge.labels();
  await forge.milestones();
  await forge.issues();
  await forge.requests();
  await countAll(bringing);
  await forge.releases();
  await forge.members();
  await bringing.part("settings", () => finishProject(bringing, forge.settings()));
}

/** What is asked of one repository. */
class Forge {
  readonly #bringing: Bringing;
  readonly #told: Told;
  readonly #isGitea: boolean;
  /** The ids there of milestones by their titles, which is all that events say. */
  #milestones: Promise<ReadonlyMap<string, number>> | undefined;

  constructor(bringing: Bringing, told: Told) {
    this.#bringing = bringing;
    this.#told = told;
    this.#isGitea = bringing.running.record.source_type === "gitea";
  }

  /** Brings the wiki, which may not be there though it is switched on. */
  async wiki(): Promise<void> {
    if (this.#told["has_wiki"] === false) return;
    try {
      await bringWikiOf(this.#bringing, this.#bringing.place.id);
    } catch (error) {
      const isMissing =
        error instanceof ArchiveError && error.message.startsWith("there is no such");
      if (!isMissing) throw error;
    }
  }

  async labels(): Promise<void> {
    const bringing = this.#bringing;
    const { now } = bringing.running;
    const lists = [["labels", `${bringing.path}/labels`]];
    if (this.#isGitea && (await this.#hasOrganization())) {
      const [owner = ""] = bringing.entity.source_full_path.split("/");
      lists.push(["organization_labels", `orgs/${encodeURIComponent(owner)}/labels`]);
    }
    for (const [kind = "", path = ""] of lists) {
      await bringing.list(kind, path, {}, async (told) => {
        const row = labelRow(labelOf(told), now());
        return bringing.record(kind, String(told["id"]), [row], []);
      });
    }
  }

  /** Whether the repository is an organization's, which may have labels for all its repositories. */
  async #hasOrganization(): Promise<boolean> {
    const [owner = ""] = this.#bringing.entity.source_full_path.split("/");
    try {
      await this.#bringing.running.source.get(`orgs/${encodeURIComponent(owner)}`);
      return true;
    } catch (error) {
      if (error instanceof SourceError && error.status !== 401) return false;
      throw error;
    }
  }

  milestones(): Promise<void> {
    const bringing = this.#bringing;
    return bringing.list("milestones", `${bringing.path}/milestones`, ALL, async (told) =>
      bringing.record("milestones", String(told["id"]), [milestoneRow(milestoneOf(told))], []),
    );
  }

  #milestoneIds(): Promise<ReadonlyMap<string, number>> {
    const { path } = this.#bringing;
    this.#milestones ??= this.#bringing
      .about("milestones", `${path}/milestones`, ALL)
      .then((all) => new Map(all.map(({ title, id }) => [String(title), numberIn(id) ?? 0])));
    return this.#milestones;
  }

  /** The accounts here of the people whom answers name. */
  async #isHere(...answers: (readonly Told[])[]): Promise<IsHere> {
    const people = await this.#bringing.running.people.in(answers.map(peopleIn));
    return ({ id }) => people.has(id as number);
  }

  /** What happened to an issue or pull request. */
  async #events(number: unknown): Promise<Told[]> {
    const at = `${this.#bringing.path}/issues/${number}`;
    return this.#isGitea
      ? fromTimeline(await this.#bringing.about("history of issues", `${at}/timeline`))
      : this.#bringing.about("history of issues", `${at}/events`);
  }

  /** Comments below an issue or pull request; GitHub says how many there are. */
  async #comments(told: Told, number: unknown): Promise<Told[]> {
    if (told["comments"] === 0) return [];
    return this.#bringing.about("comments", `${this.#bringing.path}/issues/${number}/comments`);
  }

  /** Reactions to something; GitHub says how many there are. */
  async #reactions(told: Told, path: string): Promise<Told[]> {
    const count = numberIn(toldIn(told["reactions"])["total_count"]);
    if (count === 0 || (count === null && !this.#isGitea)) return [];
    const { path: base } = this.#bringing;
    return emojiOf(await this.#bringing.about("reactions", `${base}/${path}/reactions`), told);
  }

  /** Reactions to notes by their numbers. */
  async #noteEmoji(
    discussions: readonly Told[],
    comments: readonly Told[],
    onLines: readonly Told[],
  ): Promise<Map<number, readonly Told[]>> {
    const found = new Map<number, readonly Told[]>();
    const [ofIssue, ofLines] = [comments, onLines].map(
      (all) => new Map(all.map((told) => [told["id"], told])),
    );
    for (const note of discussions.flatMap(({ notes }) => listIn(notes))) {
      const isOnLine = note["of"] === "reviews";
      if (note["of"] === undefined || (isOnLine && this.#isGitea)) continue;
      const told = (isOnLine ? ofLines : ofIssue)?.get(note["key"]);
      const at = isOnLine ? "pulls/comments" : "issues/comments";
      const emoji = told ? await this.#reactions(told, `${at}/${note["key"]}`) : [];
      if (emoji.length > 0) found.set(note["id"] as number, emoji);
    }
    return found;
  }

  issues(): Promise<void> {
    const bringing = this.#bringing;
    const query = this.#isGitea ? { ...ALL, type: "issues" } : { ...ALL, ...OLDEST_FIRST };
    return bringing.list("issues", `${bringing.path}/issues`, query, async (told) => {
      // Each pull request of GitHub is an issue, too.
      if (told["pull_request"] != null) return undefined;
      const { number } = told;
      const [comments, events, emoji] = await Promise.all([
        this.#comments(told, number),
        this.#events(number),
        this.#reactions(told, `issues/${number}`),
      ]);
      const isHere = await this.#isHere([told], comments, events);
      const discussions = discussionsOf({ comments, events }, isHere);
      const details: Details = {
        ...{ discussions, emoji, weightEvents: [] },
        noteEmoji: await this.#noteEmoji(discussions, comments, []),
        ...eventsOf(events, await this.#milestoneIds()),
      };
      return issueRecord(bringing, issueOf(told, events, isHere), details, []);
    });
  }

  async requests(): Promise<void> {
    const bringing = this.#bringing;
    const { running, place, path } = bringing;
    let found: Commits | undefined;
    const query = this.#isGitea ? { ...ALL, sort: "oldest" } : { ...ALL, ...OLDEST_FIRST };
    await bringing.list("merge_requests", `${path}/pulls`, query, async (listed) => {
      found ??= await commitsOf(running.store, place.id);
      const commits = found;
      const { number } = listed;
      const [told, reviews, events] = await Promise.all([
        this.#isGitea ? listed : running.source.get(`${path}/pulls/${number}`),
        bringing.about("reviews", `${path}/pulls/${number}/reviews`),
        this.#events(number),
      ]);
      const [comments, onLines, emoji] = await Promise.all([
        this.#comments(told, number),
        this.#onLines(told, reviews),
        this.#reactions(told, `issues/${number}`),
      ]);
      const isHere = await this.#isHere([told], comments, events, reviews, onLines);
      const start = textIn(toldIn(told["base"])["sha"]);
      const talk = { comments, events, reviews, onLines, start, commits };
      const discussions = discussionsOf(talk, isHere);
      const details = {
        ...{ discussions, emoji, weightEvents: [] },
        noteEmoji: await this.#noteEmoji(discussions, comments, onLines),
        ...eventsOf(events, await this.#milestoneIds()),
        versions: versionsOf(told, commits),
        approvals: { approved_by: approvalsOf(reviews) },
        reviewers: reviewersOf(told, reviews),
      };
      return requestRecord(bringing, requestOf(told, events, isHere), details, commits.has);
    });
  }

  /** Comments on lines. */
  async #onLines(told: Told, reviews: readonly Told[]): Promise<Told[]> {
    const at = `${this.#bringing.path}/pulls/${told["number"]}`;
    if (!this.#isGitea) {
      if (told["review_comments"] === 0) return [];
      return this.#bringing.about("comments on lines", `${at}/comments`);
    }
    const all: Told[] = [];
    for (const { id, comments_count } of reviews) {
      if (comments_count === 0) continue;
      const some = await this.#bringing.about("comments on lines", `${at}/reviews/${id}/comments`);
      all.push(...some);
    }
    return all;
  }

  releases(): Promise<void> {
    return bringReleases(this.#bringing, `${this.#bringing.path}/releases`, {}, async (told) =>
      told["draft"] === true ? undefined : releaseOf(told, await this.#isHere([told])),
    );
  }

  /** Brings collaborators, as members of projects of GitLab are. */
  async members(): Promise<void> {
    const bringing = this.#bringing;
    const { people, importer, now } = bringing.running;
    const isNobodys = !importer.speaksForAll && !people.haveStandIns;
    if (bringing.entity.migrate_memberships === 0 || isNobodys) return;
    const list = `${bringing.path}/collaborators`;
    await bringing.list("members", list, { affiliation: "direct" }, async (told) => {
      const person = personIn(told);
      if (!person) return undefined;
      const access_level = levelOf(
        this.#isGitea || told["permissions"] === undefined
          ? await bringing.aboutOne(
              "rights of collaborators",
              `${list}/${encodeURIComponent(String(person["username"]))}/permission`,
            )
          : told,
      );
      if (access_level === undefined) {
        throw new ArchiveError(`${person["username"]} has no role that there is here`);
      }
      return memberRecord(bringing, person, memberRow({ ...person, access_level }, now()));
    });
  }

  /** What the repository is, as GitLab shows projects. */
  settings(): Told {
    const told = this.#told;
    const isPrivate = told["private"] === true;
    const is = (name: string) => (told[name] === false ? "disabled" : "enabled");
    return {
      ...{ description: told["description"], default_branch: told["default_branch"] },
      visibility: isPrivate
        ? "private"
        : told["internal"] === true || told["visibility"] === "internal"
          ? "internal"
          : "public",
      ...{ archived: told["archived"], topics: told["topics"] },
      ...{ issues_access_level: is("has_issues"), wiki_access_level: is("has_wiki") },
      last_activity_at: told["pushed_at"] ?? told["updated_at"],
    };
  }
}

const ALL = { state: "all" } as const;
const OLDEST_FIRST = { sort: "created", direction: "asc" } as const;
