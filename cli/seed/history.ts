import type { Seed } from "../../src/index.ts";
import { type Calendar, dayOf, quarterOf, WORKDAY } from "./calendar.ts";
import { Code, type Release } from "./code.ts";
import type { Random } from "./random.ts";
import { CIRCUMSTANCES, fill, QUESTIONS, REVIEW, STORIES, type Story, THINGS } from "./stories.ts";
import { PRIORITIES } from "./words.ts";

type Project = NonNullable<Seed["projects"]>[number];
type Issue = NonNullable<Project["issues"]>[number];
type Note = NonNullable<Issue["notes"]>[number];
type MergeRequest = NonNullable<Project["merge_requests"]>[number];
type Push = NonNullable<Project["pushes"]>[number];

/** The project work happens in, and the people who do it. */
export interface Workplace {
  /** The project's name. */
  product: string;
  description: string | undefined;
  topics: readonly string[];
  /** Who makes the first commit. */
  creator: string;
  /** User names of people who do the work; at least one. */
  team: readonly string[];
  /** User names of people who report issues. */
  others: readonly string[];
  /** Names of the project's own labels. */
  labels: readonly string[];
  /** Whether it belongs to a company, which has labels and milestones for all its projects. */
  inCompany: boolean;
  /** Labels for the states of work in progress. */
  workflow: readonly string[];
  /** The working minute in which the history begins. */
  began: number;
  /** User names of people other than the assignees who have todos. */
  watchers: readonly string[];
}

/** A push, and what it is about. */
interface Pushed {
  /** Its working minute. */
  at: number;
  push: Push;
  /** The first line of its commit's message; the push that removes a branch has none. */
  title?: string;
  /** One of {@link THINGS}. */
  thing: string;
  /** What it merges, if it does. */
  merged?: { branch: string; issue: string; number: number };
}

/** Makes threads of notes in turn: a comment and the answer to it, who resolves it by the time the work is done. */
function threadsOf(notes: readonly Note[], isDone: boolean): Note[] {
  return notes.flatMap((note, index) => {
    if (index % 2 === 1) return [];
    const answer = notes[index + 1];
    if (!answer) return [note];
    const { author, body, created_at } = answer;
    const replies = [{ author, body, created_at }];
    return [{ ...note, replies, ...(isDone && { resolved_by: author }) }];
  });
}

/** The history of one issue; {@link historyOf} creates one for each. */
class Work {
  readonly pushes: Pushed[] = [];
  readonly #place: Workplace;
  readonly #random: Random;
  readonly #calendar: Calendar;
  readonly #story: Story;
  readonly #values: Record<string, string>;
  readonly #title: string;
  readonly #began: number;
  readonly #merged: number;
  readonly #assignee: string;
  readonly #number: number;
  readonly #planned: { milestone?: string };

  constructor(place: Workplace, began: number, number: number, { random, calendar }: Chances) {
    this.#place = place;
    this.#random = random;
    this.#calendar = calendar;
    this.#story = random.pick(STORIES);
    this.#values = {
      product: place.product,
      thing: random.pick(THINGS),
      when: random.pick(CIRCUMSTANCES),
    };
    this.#title = fill(this.#story.title, this.#values);
    this.#began = began;
    // Most work is done within days, some takes weeks, and some is never finished.
    const duration = random.skewed(0.4, 25) * WORKDAY;
    this.#merged = random.chance(0.1) ? Number.POSITIVE_INFINITY : began + duration;
    this.#assignee = random.pick(place.team);
    this.#number = number;
    // The quarter it was finished in, or the current one.
    const done = calendar.at(Math.min(this.#merged, calendar.total));
    const isPlanned = place.inCompany && random.chance(0.6);
    this.#planned = isPlanned ? { milestone: quarterOf(done).title } : {};
  }

  issue(): Issue {
    const random = this.#random;
    const { type } = this.#story;
    const { team, others, inCompany, labels, workflow, watchers } = this.#place;
    const isDone = this.#isPast(this.#merged);
    const author = random.pick(random.chance(0.5) && type !== "security" ? others : team);
    const own = random.sample(labels, random.integer(0, 1));
    const common = [`type: ${type}`, `priority: ${random.pick(PRIORITIES)}`];
    const isAsked = !isDone && random.chance(0.5);
    return {
      title: this.#title,
      description: fill(this.#story.description, this.#values),
      author,
      assignees: [this.#assignee],
      labels: [
        ...own,
        ...(inCompany ? common : []),
        ...(isDone ? [] : random.sample(workflow, random.integer(0, 1))),
      ],
      notes: this.#notes(
        [
          ...(random.chance(0.2) ? [fill(random.pick(QUESTIONS), { user: this.#assignee })] : []),
          ...this.#story.notes.slice(0, random.integer(0, this.#story.notes.length)),
        ],
        [author, this.#assignee, random.pick(team)],
        { from: this.#began, to: this.#merged },
      ),
      ...this.#planned,
      ...(random.chance(0.1) ? { award_emoji: { thumbsup: random.sample(team, 3) } } : {}),
      ...(isAsked ? { todos: [this.#assignee, ...watchers] } : {}),
      ...(random.chance(0.3) ? { due_date: this.#dueDate() } : {}),
      ...(type === "feature" ? { weight: random.integer(1, 8) } : {}),
      ...(type === "security" ? { confidential: true } : {}),
      created_at: this.#calendar.at(this.#began),
      ...(isDone ? this.#ended("closed", this.#assignee, this.#merged) : {}),
    };
  }

  /** The merge request that resolves the issue, after recording its pushes; `undefined` if there is none yet. */
  mergeRequest(): { at: number; request: MergeRequest } | undefined {
    const random = this.#random;
    const { commits } = this.#story;
    const duration = Math.min(this.#merged - this.#began, 5 * WORKDAY);
    const opened = this.#began + duration * (0.2 + random.next() * 0.4);
    if (commits.length === 0 || !this.#isPast(opened)) return undefined;
    const branch = `${this.#number}-${plain(this.#title)}`.slice(0, 50).replace(/-$/, "");
    const reviewer = random.pick(this.#place.team);
    const left = duration - (opened - this.#began);
    const end = Number.isFinite(this.#merged) ? this.#merged : opened + left;
    this.#push(opened - duration * 0.05, branch, { title: commits[0] as string });
    for (const title of commits.slice(1)) {
      this.#push(opened + left * random.next() * 0.9, branch, { title });
    }
    const isDropped = random.chance(0.05);
    const isDone = this.#isPast(this.#merged);
    if (isDone && !isDropped) {
      const title = `Merge branch '${branch}' into 'main'`;
      const merged = { branch, issue: this.#title, number: this.#number };
      this.#push(this.#merged, "main", { title, merged });
    }
    if (isDone) this.#push(this.#merged + 1, branch);
    return {
      at: opened,
      request: {
        title: `Resolve "${this.#title}"`,
        description: `${commits.map((commit) => `- ${fill(commit, this.#values)}`).join("\n")}\n\nCloses #${this.#number}`,
        author: this.#assignee,
        assignees: [reviewer],
        reviewers: [reviewer],
        ...(isDone && !isDropped ? { approved_by: [reviewer] } : {}),
        labels: this.#place.inCompany ? [`type: ${this.#story.type}`] : [],
        source_branch: branch,
        ...this.#planned,
        notes: threadsOf(
          this.#notes(random.sample(REVIEW, random.integer(0, 4)), [reviewer, this.#assignee], {
            from: opened,
            to: end,
          }),
          isDone,
        ),
        ...(isDone ? {} : { todos: [reviewer] }),
        ...(random.chance(0.1) ? { award_emoji: { tada: [reviewer] } } : {}),
        created_at: this.#calendar.at(opened),
        ...(isDone ? this.#ended(isDropped ? "closed" : "merged", reviewer, this.#merged) : {}),
      },
    };
  }

  #ended<S extends string>(state: S, by: string, at: number) {
    return { state, ended_by: by, ended_at: this.#calendar.at(at) };
  }

  #isPast(minute: number): boolean {
    return minute < this.#calendar.total;
  }

  /** Notes by the authors in turn, up to now. */
  #notes(
    bodies: readonly string[],
    authors: readonly string[],
    { from, to }: { from: number; to: number },
  ): Note[] {
    const until = Math.min(to, from + 20 * WORKDAY);
    const step = (until - from) / (bodies.length + 1);
    return bodies
      .map((body, index) => ({ body, at: from + step * (index + this.#random.next()), index }))
      .filter(({ at }) => this.#isPast(at))
      .map(({ body, at, index }) => ({
        author: authors[index % authors.length] as string,
        body: fill(body, this.#values),
        ...(this.#random.chance(0.05) ? { award_emoji: { heart: [authors[0] as string] } } : {}),
        created_at: this.#calendar.at(at),
      }));
  }

  /** @param about its commit; without one the branch is removed */
  #push(at: number, ref: string, about?: Required<Pick<Pushed, "title">> & Pick<Pushed, "merged">) {
    if (!this.#isPast(at)) return;
    const push: Push = { author: this.#assignee, ref, created_at: this.#calendar.at(at) };
    const { thing = "" } = this.#values;
    this.pushes.push({
      at,
      push: about ? push : { ...push, action: "removed" },
      thing,
      ...(about && { ...about, title: fill(about.title, this.#values) }),
    });
  }

  #dueDate(): string {
    return this.#calendar.dayOf(this.#began + this.#random.integer(3, 25) * WORKDAY);
  }
}

/** What histories are generated from: random choices and working time. */
export interface Chances {
  random: Random;
  calendar: Calendar;
}

/** Generates a project's issues, merge requests and pushes, in order. */
export function historyOf(
  place: Workplace,
  issues: number,
  chances: Chances,
): Required<Pick<Project, "issues" | "merge_requests" | "pushes" | "releases">> {
  const { random, calendar } = chances;
  // Activity grows over the years.
  const starts = Array.from(
    { length: issues },
    () => place.began + Math.sqrt(random.next()) * (calendar.total - place.began),
  ).sort((one, other) => one - other);
  const works = starts.map((began, index) => new Work(place, began, index + 1, chances));
  const requests = works.flatMap((work) => work.mergeRequest() ?? []);
  const pushes = works.flatMap((work) => work.pushes);
  return {
    issues: works.map((work) => work.issue()),
    merge_requests: sorted(requests).map(({ request }) => request),
    ...committed(place, sorted(pushes), calendar),
  };
}

function sorted<T extends { at: number }>(happenings: T[]): T[] {
  return happenings.sort((one, other) => one.at - other.at);
}

/** Gives pushes their commits, and adds those of the first commit and of releases. */
function committed(
  place: Workplace,
  pushes: readonly Pushed[],
  calendar: Calendar,
): Required<Pick<Project, "pushes" | "releases">> {
  const { product, description, topics, creator, began } = place;
  const code = new Code(topics);
  const first = { message: `Begin ${product}`, files: code.begin(product, description) };
  const created_at = calendar.at(began);
  const releases: NonNullable<Project["releases"]> = [];
  const all = [
    { author: creator, ref: "main", commits: [first], created_at },
    ...pushes.flatMap(({ push, title, thing, merged }): Push[] => {
      if (title === undefined) {
        code.remove(push.ref);
        return [push];
      }
      if (!merged) {
        const files = code.change(push.ref, title, thing);
        return [{ ...push, commits: [{ message: title, files }] }];
      }
      const { branch, issue, number } = merged;
      const message = `${title}\n\nResolve "${issue}"\n\nCloses #${number}`;
      const files = code.merge(branch, issue);
      const merge = { ...push, commits: [{ message, files, merge: branch }] };
      const release = code.release(dayOf(Date.parse(push.created_at as string)));
      if (!release) return [merge];
      releases.push({
        tag: release.name,
        description: release.news,
        author: push.author,
        released_at: push.created_at,
      });
      return [merge, ...releaseOf(release, push)];
    }),
  ];
  return { pushes: all, releases };
}

/** The pushes of a release: its commit, and its tag. */
function releaseOf({ name, files }: Release, push: Push): Push[] {
  const message = `Release ${name}`;
  return [
    { ...push, commits: [{ message, files }] },
    { ...push, ref: name, ref_type: "tag", message },
  ];
}

/** A title as part of a branch name. */
function plain(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
