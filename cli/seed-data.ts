import type { Seed } from "../src/index.ts";
import {
  COLORS,
  COMPANIES,
  DEPARTMENTS,
  FIRST_NAMES,
  KINDS,
  LABEL_PREFIXES,
  LAST_NAMES,
  PERSONAL_PROJECTS,
  PRIORITIES,
  PRODUCTS,
  SUBJECTS,
  TEAMS,
  TOPICS,
  TYPES,
  WORKFLOW,
} from "./seed-words.ts";

type User = NonNullable<Seed["users"]>[number];
type Group = NonNullable<Seed["groups"]>[number];
type Project = NonNullable<Group["projects"]>[number];
type Label = NonNullable<Group["labels"]>[number];
type Milestone = NonNullable<Group["milestones"]>[number];
type Members = NonNullable<Group["members"]>;
type Visibility = NonNullable<Group["visibility"]>;

/** How much is generated. */
interface Size {
  /** With the administrator. */
  users: number;
  companies: number;
  /** A department each, by the number of its teams. */
  teams: readonly number[];
  /** With those that are people's own. */
  projects: number;
  personalProjects: number;
  /** Projects directly in the first company. */
  firstProjects: number;
  labels: number;
  /** Lists of the first company's first board. */
  firstLists: number;
}

const SIZES = {
  small: {
    users: 16,
    companies: 3,
    teams: [1, 0],
    projects: 24,
    personalProjects: 2,
    firstProjects: 4,
    labels: 240,
    firstLists: 6,
  },
  medium: {
    users: 800,
    companies: 12,
    teams: [1, 1],
    projects: 500,
    personalProjects: 40,
    firstProjects: 25,
    labels: 10_000,
    firstLists: 20,
  },
  large: {
    users: 5_000,
    companies: 20,
    teams: [2, 2, 2],
    projects: 2_000,
    personalProjects: 150,
    firstProjects: 25,
    labels: 100_000,
    firstLists: 20,
  },
} satisfies Record<string, Size>;

/** How much data there is: a demo, what benchmarks run on, or more than most installations hold. */
export type Scale = keyof typeof SIZES;
export const SCALES = Object.keys(SIZES) as Scale[];

/**
 * Generates believable data, the same at every call but for the secret of the administrator's token.
 *
 * In every scale there are the administrator `root`, who has a token, and the public group `acme`, whose first board
 * has 20 lists but for the small scale.
 */
export function seedData(scale: Scale): Seed {
  return new Generator(SIZES[scale]).seed();
}

const LEVELS: readonly Visibility[] = ["private", "internal", "public"];

class Generator {
  readonly #size: Size;
  readonly #random = mulberry32(20_261_121);
  /** How many labels each project gets, in the order they are made. */
  readonly #projectLabels: number[];
  readonly #users: User[];

  constructor(size: Size) {
    this.#size = size;
    const { companies, teams, projects } = size;
    const inGroups =
      companies *
      (companyLabels().length +
        sum(teams.map((count) => DEPARTMENT_LABELS.length + count * TEAM_LABELS.length)));
    this.#projectLabels = this.#spread(size.labels - inGroups, projects);
    this.#users = Array.from({ length: size.users - 1 }, (_, index) => this.#user(index));
  }

  seed(): Seed {
    const { companies, projects, personalProjects, firstProjects, teams } = this.#size;
    const groupsEach = 1 + teams.length + sum(teams);
    const inGroups = this.#spread(
      projects - personalProjects - firstProjects,
      companies * groupsEach - 1,
    );
    const counts = [firstProjects, ...inGroups];
    const groups = COMPANIES.slice(0, companies).map((name, index) =>
      this.#company(name, index, counts.splice(0, groupsEach)),
    );
    const root: User = {
      username: "root",
      name: "Administrator",
      admin: true,
      tokens: [{ name: "seed", scopes: ["api", "sudo"] }],
    };
    return { users: [root, ...this.#users], groups, projects: this.#personalProjects() };
  }

  #user(index: number): User {
    // Every pair of names once: the last name steps on with each round of first names.
    const first = FIRST_NAMES[index % FIRST_NAMES.length] as string;
    const round = Math.floor(index / FIRST_NAMES.length);
    const last = LAST_NAMES[(index * 7 + round) % LAST_NAMES.length] as string;
    const username = `${plain(first)}.${plain(last)}`;
    const chance = this.#random();
    return {
      username,
      name: `${first} ${last}`,
      email: `${username}@example.com`,
      ...(index > 8 && chance < 0.02 ? { state: "blocked" as const } : {}),
      ...(index > 8 && chance > 0.95 ? { external: true } : {}),
    };
  }

  #company(name: string, index: number, projectCounts: number[]): Group {
    const visibility = index < 3 ? (["public", "internal", "private"] as const)[index] : undefined;
    const staff = this.#staff(index);
    const path = plain(name);
    const level = visibility ?? this.#pick(LEVELS);
    const labels = companyLabels();
    const firstBoard = {
      name: "Delivery",
      lists: index === 0 ? WORKFLOW.slice(0, this.#size.firstLists) : this.#workflow(3, 20),
    };
    return {
      path,
      name,
      description: `Everything ${name} builds and runs.`,
      visibility: level,
      members: this.#membersOf(staff),
      labels: labels.map((label) => this.#colored(label)),
      milestones: quarters(),
      boards: [firstBoard, { name: "Support", lists: this.#workflow(3, 8) }],
      projects: this.#projects(projectCounts.shift() ?? 0, name, level, staff),
      subgroups: this.#size.teams.map((teams, at) =>
        this.#department(DEPARTMENTS[at] as string, teams, { level, staff, projectCounts }),
      ),
    };
  }

  #department(
    name: string,
    teams: number,
    company: { level: Visibility; staff: readonly User[]; projectCounts: number[] },
  ): Group {
    const { staff, projectCounts } = company;
    const level = this.#upTo(company.level);
    return {
      path: plain(name),
      name,
      visibility: level,
      members: this.#leads(staff, "maintainer", 2),
      labels: DEPARTMENT_LABELS.map((label) => this.#colored(label)),
      boards: [{ name: "Planning", lists: [...this.#workflow(3, 8), DEPARTMENT_LABELS[0]] }],
      projects: this.#projects(projectCounts.shift() ?? 0, name, level, staff),
      subgroups: (TEAMS[name] ?? []).slice(0, teams).map((team) => ({
        path: plain(team),
        name: team,
        visibility: level,
        members: this.#leads(staff, "developer", 3),
        labels: TEAM_LABELS.map((label) => this.#colored(label)),
        milestones: sprints(),
        boards: [{ name: "Sprint", lists: this.#workflow(4, 6) }],
        projects: this.#projects(projectCounts.shift() ?? 0, team, level, staff),
      })),
    };
  }

  #projects(count: number, owner: string, level: Visibility, staff: readonly User[]): Project[] {
    const names = PRODUCTS.flatMap((product) => KINDS.map((kind) => [product, kind] as const));
    return this.#sample(names, count).map(([product, kind]) => ({
      ...this.#project(`${product} ${kind}`, this.#upTo(level)),
      description: `${kind} of ${owner} for ${product.toLowerCase()}.`,
      topics: this.#sample(TOPICS, this.#integer(0, 3)),
      members: this.#leads(staff, "maintainer", 1),
      milestones: releases(this.#integer(0, 3)),
    }));
  }

  #personalProjects(): NonNullable<Seed["projects"]> {
    return this.#sample(this.#users, this.#size.personalProjects).map(({ username }) => ({
      namespace: username,
      ...this.#project(this.#pick(PERSONAL_PROJECTS), this.#pick(LEVELS)),
    }));
  }

  #project(name: string, visibility: Visibility): Project {
    const labels = LABEL_PREFIXES.flatMap((prefix) =>
      SUBJECTS.map((subject) => `${prefix}: ${subject}`),
    );
    // A few are popular, most have hardly a star.
    const stars = Math.floor(this.#random() ** 4 * Math.min(this.#users.length, 40));
    return {
      path: plain(name),
      name,
      visibility,
      default_branch: "main",
      labels: this.#sample(labels, this.#projectLabels.shift() ?? 0).map((label) =>
        this.#colored(label),
      ),
      starred_by: this.#sample(this.#users, stars).map(({ username }) => username),
    };
  }

  /** The first company employs two in five, the others half of the people, some work nowhere. */
  #staff(index: number): User[] {
    const people = this.#users.length;
    const first = Math.floor(people * 0.4);
    if (index === 0) return this.#users.slice(0, first);
    const each = Math.floor((people * 0.5) / (this.#size.companies - 1));
    const from = first + (index - 1) * each;
    return this.#users.slice(from, from + each);
  }

  /** Every role is there, as far as the staff goes; most are developers. */
  #membersOf(staff: readonly User[]): Members {
    const everyRole = ["owner", "maintainer", "developer", "reporter", "guest"] as const;
    const most = ["developer", "developer", "developer", "reporter", "guest"] as const;
    return Object.fromEntries(
      staff.map(({ username }, index) => [username, everyRole[index] ?? this.#pick(most)]),
    );
  }

  #leads(staff: readonly User[], role: Members[string], count: number): Members {
    return Object.fromEntries(
      this.#sample(staff, Math.min(count, staff.length)).map(({ username }) => [username, role]),
    );
  }

  #colored(name: string): Label {
    const described = this.#random() < 0.3;
    return {
      name,
      color: this.#pick(COLORS),
      ...(described ? { description: `Work that is about ${name.replace(/^.*: /, "")}` } : {}),
    };
  }

  /** Some states of {@link WORKFLOW}, in its order. */
  #workflow(least: number, most: number): string[] {
    const chosen = new Set(this.#sample(WORKFLOW, this.#integer(least, most)));
    return WORKFLOW.filter((state) => chosen.has(state));
  }

  /** The same visibility or, now and then, a narrower one. */
  #upTo(visibility: Visibility): Visibility {
    if (this.#random() < 0.6) return visibility;
    return this.#pick(LEVELS.slice(0, LEVELS.indexOf(visibility) + 1));
  }

  #integer(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#integer(0, values.length - 1)] as T;
  }

  /** Distinct values in random order. */
  #sample<T>(values: readonly T[], count: number): T[] {
    const left = [...values];
    return Array.from({ length: Math.min(count, left.length) }, (_, at) => {
      const chosen = this.#integer(at, left.length - 1);
      [left[at], left[chosen]] = [left[chosen] as T, left[at] as T];
      return left[at] as T;
    });
  }

  /** A total dealt out in uneven parts. */
  #spread(total: number, parts: number): number[] {
    const weights = Array.from({ length: parts }, () => 0.4 + this.#random() * 1.2);
    const all = sum(weights);
    let weight = 0;
    let dealt = 0;
    return weights.map((one) => {
      weight += one;
      const upToHere = Math.round((total * weight) / all);
      const part = upToHere - dealt;
      dealt = upToHere;
      return part;
    });
  }
}

// Names are inherited, so each level of groups has its own.
const companyLabels = () => [
  ...WORKFLOW,
  ...TYPES.map((type) => `type: ${type}`),
  ...PRIORITIES.map((priority) => `priority: ${priority}`),
];
const DEPARTMENT_LABELS = [
  "Roadmap",
  "area: customers",
  "area: operations",
  "area: partners",
] as const;
const TEAM_LABELS = ["effort: days", "effort: hours", "effort: weeks"] as const;

function quarters(): Milestone[] {
  return [
    { title: "2026 Q3", state: "closed", start_date: "2026-07-01", due_date: "2026-09-30" },
    { title: "2026 Q4", start_date: "2026-10-01", due_date: "2026-12-31" },
    { title: "2027 Q1", start_date: "2027-01-01", due_date: "2027-03-31" },
  ];
}

function sprints(): Milestone[] {
  return [
    { title: "Sprint 23", state: "closed", start_date: "2026-11-02", due_date: "2026-11-13" },
    { title: "Sprint 24", start_date: "2026-11-16", due_date: "2026-11-27" },
  ];
}

function releases(count: number): Milestone[] {
  return Array.from({ length: count }, (_, index) => ({
    title: `v1.${index}`,
    description: `What version 1.${index} brings.`,
    state: index === count - 1 ? "active" : "closed",
  }));
}

/** A name as it stands in a path: without accents, in lower case. */
function plain(name: string): string {
  return name
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** A small generator of random numbers from 0 up to 1, the same for the same start. */
function mulberry32(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
