import type { Seed } from "../../src/index.ts";
import { Calendar } from "./calendar.ts";
import { deliveryOf } from "./delivery.ts";
import { historyOf } from "./history.ts";
import { MANAGERS, packagesOf } from "./packages.ts";
import { wikiOf } from "./pages.ts";
import { Random } from "./random.ts";
import { WORKFLOW } from "./words.ts";

type User = NonNullable<Seed["users"]>[number];
type Group = NonNullable<Seed["groups"]>[number];
type Project = NonNullable<Group["projects"]>[number];
type Snippet = NonNullable<Project["snippets"]>[number];
type Badge = NonNullable<Group["badges"]>[number];
type Settings = NonNullable<Group["notification_settings"]>;

/** The people of a project. */
export interface People {
  /** User names of people who do the work; at least one. */
  workers: readonly string[];
  /** User names of people who only report issues. */
  others: readonly string[];
  /** Whether they belong to a company, which has labels and milestones for all its projects. */
  areCompany: boolean;
  /** Whether the administrator created and maintains the project. */
  areAdministrators?: boolean;
}

/**
 * Generates the history of two and a half years. It has its own random numbers, so that the rest of the data doesn't
 * depend on it.
 */
export class Past {
  readonly calendar: Calendar;
  readonly #random = new Random(20_240_521);
  /** For what came later, so that the rest doesn't depend on it. */
  readonly #luck = new Random(20_261_122);
  /** How many issues each project gets, in order of creation. */
  readonly #issues: number[];
  readonly #delivery: { readonly now: number; readonly withSecrets: boolean };

  /**
   * @param now the end of the history, in epoch milliseconds
   * @param issues the total number of issues; a quarter of them go to the first projects
   * @param withSecrets whether projects have secrets
   */
  constructor(
    now: number,
    issues: number,
    projects: { first: number; others: number },
    withSecrets: boolean,
  ) {
    this.calendar = new Calendar(now);
    this.#delivery = { now, withSecrets };
    const first = Math.round(issues / 4);
    this.#issues = [
      ...this.#random.spread(first, projects.first),
      ...this.#random.spread(issues - first, projects.others),
    ];
  }

  /** The start of the history, an ISO 8601 instant. */
  get start(): string {
    return this.calendar.at(0);
  }

  /** A user's creation time and, for some, notification settings. */
  ofUser(): Pick<User, "created_at" | "notification_settings"> {
    const settings = this.#random.chance(0.2)
      ? { level: this.#random.pick(["watch", "mention", "disabled"] as const) }
      : undefined;
    return {
      created_at: this.start,
      ...(settings && { notification_settings: settings }),
    };
  }

  /** A group's badges, which apply to each of its projects, and members who watch it. */
  ofGroup(
    members: Group["members"] = {},
  ): Pick<Group, "created_at" | "badges" | "notification_settings"> {
    return {
      created_at: this.start,
      badges: [badge("pipeline", "pipelines"), badge("coverage", "coverage")],
      notification_settings: this.#settings(Object.keys(members), 3),
    };
  }

  /** Adds everything to a project but labels, milestones and stars. */
  ofProject(project: Project, people: People): Project {
    const random = this.#random;
    const { calendar } = this;
    const { workers, others, areCompany, areAdministrators = false } = people;
    const { name = project.path, topics = [], members = {} } = project;
    // The administrator's projects exist from the start.
    const began = areAdministrators ? 0 : calendar.total * 0.8 * random.next() ** 2;
    const team = random.sample(workers, random.integer(2, 8));
    const leads = Object.entries(members).map(([username, role]) => [
      username,
      typeof role === "string"
        ? { role, joined_at: calendar.at(began + random.next() * 600) }
        : role,
    ]);
    const watchers = areAdministrators ? ["root"] : [];
    const creator = areAdministrators ? "root" : (team[0] as string);
    const managers = new Set(topics.map((topic) => MANAGERS[topic] ?? "npm"));
    const past = {
      ...project,
      members: Object.fromEntries(leads),
      creator,
      created_at: calendar.at(began),
      badges: areCompany ? [badge("release", "release")] : [],
      notification_settings: this.#settings(team, 1),
      dependencies: [...managers].flatMap(packagesOf),
      snippets: [snippetOf(team, calendar.at(began))],
      ...wikiOf(name, team, began, { calendar, random }),
      ...historyOf(
        {
          product: name,
          description: project.description,
          topics,
          creator,
          team,
          others: [...team, ...random.sample(others, 5), ...watchers],
          labels: (project.labels ?? []).map((label) => label.name),
          inCompany: areCompany,
          workflow: areCompany ? WORKFLOW : [],
          began,
          watchers,
        },
        this.#issues.shift() ?? 0,
        { calendar, random },
      ),
    };
    return {
      ...past,
      ...deliveryOf(past, { ...this.#delivery, team, inCompany: areCompany }, this.#luck),
    };
  }

  #settings(usernames: readonly string[], count: number): Settings {
    const choices = [
      { level: "watch" },
      { level: "custom", new_issue: true, close_issue: true, merge_merge_request: true },
      { level: "mention" },
    ] as const;
    const some = this.#random.sample(usernames, this.#random.integer(0, count));
    return Object.fromEntries(some.map((username) => [username, this.#random.pick(choices)]));
  }
}

/** What a project's team runs now and then, with a thread about it. */
function snippetOf(team: readonly string[], created_at: string): Snippet {
  const [author, colleague = author] = team as [string, ...string[]];
  return {
    title: "Largest tables",
    file_name: "largest-tables.sql",
    content: `select relname, pg_size_pretty(pg_total_relation_size(oid)) from pg_class
where relkind = 'r' order by pg_total_relation_size(oid) desc limit 10;
`,
    author,
    created_at,
    notes: [
      {
        author: colleague,
        body: "Does it count the indexes?",
        created_at,
        replies: [{ author, body: "Yes, and what is stored apart.", created_at }],
      },
    ],
  };
}

function badge(name: string, page: string): Badge {
  const link_url = `https://ci.example.com/%{project_path}/${page}`;
  return { name, link_url, image_url: `${link_url}/%{default_branch}.svg` };
}
