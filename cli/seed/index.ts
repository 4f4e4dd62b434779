import type { Seed } from "../../src/index.ts";
import { dayOf, quarterOf } from "./calendar.ts";
import { Past, type People } from "./past.ts";
import { Random } from "./random.ts";
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
} from "./words.ts";

type User = NonNullable<Seed["users"]>[number];
type Group = NonNullable<Seed["groups"]>[number];
type Project = NonNullable<Group["projects"]>[number];
type Label = NonNullable<Group["labels"]>[number];
type Cadence = NonNullable<Group["iteration_cadences"]>[number];
type Milestone = NonNullable<Group["milestones"]>[number];
type Epic = NonNullable<Group["epics"]>[number];
type Members = NonNullable<Group["members"]>;
type Visibility = NonNullable<Group["visibility"]>;

/** A company's staff, and the settings of its groups and projects. */
interface Company {
  staff: readonly User[];
  people: People;
  level: Visibility;
  /** How many projects each of its groups gets, in order of creation. */
  projectCounts: number[];
}

/** How much is generated. */
interface Size {
  /** Including the administrator. */
  users: number;
  companies: number;
  /** The number of teams of each department. */
  teams: readonly number[];
  /** Including personal ones. */
  projects: number;
  personalProjects: number;
  /** Projects directly in the first company. */
  firstProjects: number;
  labels: number;
  /** Lists of the first company's first board. */
  firstLists: number;
  /** Issues; there are about ten events for each. */
  issues: number;
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
    issues: 140,
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
    issues: 2_500,
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
    issues: 27_500,
  },
} satisfies Record<string, Size>;

/** The amount of data: a demo, a benchmark, or more than most installations have. */
export type Scale = keyof typeof SIZES;

/**
 * Generates realistic data with a history of two and a half years. It is the same at every call, except for the secret
 * of the administrator's token.
 *
 * @param now when the history ends, in epoch milliseconds
 * @param withSecrets whether there are secrets, such as CI variables, too: they need a key
 *
 * Every scale has the administrator `root` with a token, and the public group `acme`, whose first board has 20 lists,
 * except in the small scale.
 */
export function seedData(scale: Scale, now: number, withSecrets = true): Seed {
  return new Generator(SIZES[scale], now, withSecrets).seed();
}

const DAY = 86_400_000;
/** The first Monday of 1970, in days since its start. */
const FIRST_MONDAY = 4;
/** Fortnights before the first sprint. */
const FIRST_SPRINT = 1_418;
/** All quarters that a history can include, and the next one. */
const QUARTERS = 12;
/** What every plan has. */
const THEMES = ["Growth", "Quality"];

const LEVELS: readonly Visibility[] = ["private", "internal", "public"];

class Generator {
  readonly #size: Size;
  readonly #random = new Random(20_261_121);
  readonly #past: Past;
  readonly #now: number;
  /** How many labels each project gets, in order of creation. */
  readonly #projectLabels: number[];
  readonly #users: User[];

  constructor(size: Size, now: number, withSecrets: boolean) {
    this.#size = size;
    this.#now = now;
    const { companies, teams, projects } = size;
    const first = size.firstProjects;
    this.#past = new Past(now, size.issues, { first, others: projects - first }, withSecrets);
    const inGroups =
      companies *
      (companyLabels().length +
        sum(teams.map((count) => DEPARTMENT_LABELS.length + count * TEAM_LABELS.length)));
    this.#projectLabels = this.#random.spread(size.labels - inGroups, projects);
    this.#users = Array.from({ length: size.users - 1 }, (_, index) => this.#user(index));
  }

  seed(): Seed {
    const { companies, projects, personalProjects, firstProjects, teams } = this.#size;
    const groupsEach = 1 + teams.length + sum(teams);
    const inGroups = this.#random.spread(
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
      created_at: this.#past.start,
      tokens: [{ name: "seed", scopes: ["api", "sudo"] }],
    };
    return { users: [root, ...this.#users], groups, projects: this.#personalProjects() };
  }

  #user(index: number): User {
    // Every pair of names once: the last names shift by one with each round of first names.
    const first = FIRST_NAMES[index % FIRST_NAMES.length] as string;
    const round = Math.floor(index / FIRST_NAMES.length);
    const last = LAST_NAMES[(index * 7 + round) % LAST_NAMES.length] as string;
    const username = `${plain(first)}.${plain(last)}`;
    const chance = this.#random.next();
    return {
      username,
      name: `${first} ${last}`,
      email: `${username}@example.com`,
      ...(index > 8 && chance < 0.02 ? { state: "blocked" as const } : {}),
      ...(index > 8 && chance > 0.95 ? { external: true } : {}),
      ...this.#past.ofUser(),
    };
  }

  #company(name: string, index: number, projectCounts: number[]): Group {
    const visibility = index < 3 ? (["public", "internal", "private"] as const)[index] : undefined;
    const staff = this.#staff(index);
    const level = visibility ?? this.#random.pick(LEVELS);
    const labels = companyLabels();
    const firstBoard = {
      name: "Delivery",
      lists: index === 0 ? WORKFLOW.slice(0, this.#size.firstLists) : this.#workflow(3, 20),
    };
    const members: Members = {
      ...(index === 0 ? { root: "owner" as const } : {}),
      ...this.#membersOf(staff),
    };
    const company: Company = { staff, people: peopleOf(staff, members), level, projectCounts };
    const own = { ...company.people, areAdministrators: index === 0 };
    return {
      path: plain(name),
      name,
      description: `Everything ${name} builds and runs.`,
      visibility: level,
      members,
      labels: labels.map((label) => this.#colored(label)),
      milestones: this.#quarters(),
      iteration_cadences: [this.#fortnights()],
      boards: [firstBoard, { name: "Support", lists: this.#workflow(3, 8) }],
      epics: this.#epics((staff[0] as User).username),
      epic_boards: [{ name: "Road map", lists: this.#workflow(3, 8) }],
      // The first company looks after the second one.
      ...(index === 1 && { shared_with_groups: { [plain(COMPANIES[0] as string)]: "reporter" } }),
      ...(index === 0 && { scim_users: staff.map(({ username }) => ({ user: username })) }),
      projects: this.#projects(name, level, { ...company, people: own }),
      subgroups: this.#size.teams.map((teams, at) =>
        this.#department(DEPARTMENTS[at] as string, teams, company),
      ),
      ...this.#past.ofGroup(members),
    };
  }

  #department(name: string, teams: number, company: Company): Group {
    const { staff } = company;
    const level = this.#upTo(company.level);
    return {
      path: plain(name),
      name,
      visibility: level,
      members: this.#leads(staff, "maintainer", 2),
      labels: DEPARTMENT_LABELS.map((label) => this.#colored(label)),
      boards: [{ name: "Planning", lists: [...this.#workflow(3, 8), DEPARTMENT_LABELS[0]] }],
      projects: this.#projects(name, level, company),
      ...this.#past.ofGroup(),
      subgroups: (TEAMS[name] ?? []).slice(0, teams).map((team) => ({
        path: plain(team),
        name: team,
        visibility: level,
        members: this.#leads(staff, "developer", 3),
        labels: TEAM_LABELS.map((label) => this.#colored(label)),
        milestones: this.#sprints(),
        boards: [{ name: "Sprint", lists: this.#workflow(4, 6) }],
        projects: this.#projects(team, level, company),
        ...this.#past.ofGroup(),
      })),
    };
  }

  #projects(owner: string, level: Visibility, company: Company): Project[] {
    const { staff, people, projectCounts } = company;
    const names = PRODUCTS.flatMap((product) => KINDS.map((kind) => [product, kind] as const));
    return this.#random.sample(names, projectCounts.shift() ?? 0).map(([product, kind]) => {
      const project: Project = {
        ...this.#project(`${product} ${kind}`, this.#upTo(level)),
        description: `${kind} of ${owner} for ${product.toLowerCase()}.`,
        topics: this.#random.sample(TOPICS, this.#random.integer(0, 3)),
        members: this.#leads(staff, "maintainer", 1),
        milestones: releases(this.#random.integer(0, 3)),
      };
      return this.#past.ofProject(project, people);
    });
  }

  #personalProjects(): NonNullable<Seed["projects"]> {
    return this.#random.sample(this.#users, this.#size.personalProjects).map(({ username }) => {
      const name = this.#random.pick(PERSONAL_PROJECTS);
      const project = this.#project(name, this.#random.pick(LEVELS));
      const people: People = { workers: [username], others: [], areCompany: false };
      return { ...this.#past.ofProject(project, people), namespace: username };
    });
  }

  #project(name: string, visibility: Visibility): Project {
    const labels = LABEL_PREFIXES.flatMap((prefix) =>
      SUBJECTS.map((subject) => `${prefix}: ${subject}`),
    );
    // A few projects are popular, most have hardly any stars.
    const stars = Math.floor(this.#random.next() ** 4 * Math.min(this.#users.length, 40));
    return {
      path: plain(name),
      name,
      visibility,
      default_branch: "main",
      labels: this.#random
        .sample(labels, this.#projectLabels.shift() ?? 0)
        .map((label) => this.#colored(label)),
      starred_by: this.#random.sample(this.#users, stars).map(({ username }) => username),
    };
  }

  /** The first company employs 40 % of the people, the others share half of them, and the rest work nowhere. */
  #staff(index: number): User[] {
    const people = this.#users.length;
    const first = Math.floor(people * 0.4);
    if (index === 0) return this.#users.slice(0, first);
    const each = Math.floor((people * 0.5) / (this.#size.companies - 1));
    const from = first + (index - 1) * each;
    return this.#users.slice(from, from + each);
  }

  /** Every role occurs, if there are enough people; most are developers. */
  #membersOf(staff: readonly User[]): Members {
    const everyRole = ["owner", "maintainer", "developer", "reporter", "guest"] as const;
    const most = ["developer", "developer", "developer", "reporter", "guest"] as const;
    return Object.fromEntries(
      staff.map(({ username }, index) => [username, everyRole[index] ?? this.#random.pick(most)]),
    );
  }

  #leads(staff: readonly User[], role: Members[string], count: number): Members {
    return Object.fromEntries(
      this.#random
        .sample(staff, Math.min(count, staff.length))
        .map(({ username }) => [username, role]),
    );
  }

  #colored(name: string): Label {
    const described = this.#random.next() < 0.3;
    return {
      name,
      color: this.#random.pick(COLORS),
      ...(described ? { description: `Work that is about ${name.replace(/^.*: /, "")}` } : {}),
    };
  }

  /** Some states of {@link WORKFLOW}, in its order. */
  #workflow(least: number, most: number): string[] {
    const chosen = new Set(this.#random.sample(WORKFLOW, this.#random.integer(least, most)));
    return WORKFLOW.filter((state) => chosen.has(state));
  }

  /** Past quarters, the current and the next one. */
  #quarters(): Milestone[] {
    return Array.from({ length: QUARTERS }, (_, index) => {
      const later = index + 2 - QUARTERS;
      const { title, start, end } = quarterOf(this.#past.calendar.today, later);
      return {
        title,
        state: later < 0 ? "closed" : "active",
        start_date: start,
        due_date: end,
        created_at: start,
      };
    });
  }

  /** Two weeks each, from the current ones on. */
  #fortnights(): Cadence {
    const weeks = Math.floor((this.#now / DAY - FIRST_MONDAY) / 14);
    return {
      title: "Fortnights",
      automatic: true,
      roll_over: true,
      start_date: dayOf((FIRST_MONDAY + weeks * 14) * DAY),
      duration_in_weeks: 2,
      iterations_in_advance: 3,
    };
  }

  /** The plan of each quarter, with what it has below it. */
  #epics(author: string): Epic[] {
    return this.#quarters().flatMap(({ title, state, start_date, due_date }, quarter) => {
      const shared = {
        author,
        state: state === "closed" ? ("closed" as const) : ("opened" as const),
        start_date,
        due_date,
        created_at: start_date,
      };
      const parent = quarter * (THEMES.length + 1) + 1;
      return [
        { title: `Plan of ${title}`, ...shared },
        ...THEMES.map((theme) => ({ title: `${theme} in ${title}`, parent, ...shared })),
      ];
    });
  }

  /** The last and the current sprint, from a Monday to the Friday of the next week. */
  #sprints(): Milestone[] {
    const weeks = Math.floor((this.#now / DAY - FIRST_MONDAY) / 14);
    return [weeks - 1, weeks].map((number) => {
      const start = (FIRST_MONDAY + number * 14) * DAY;
      return {
        title: `Sprint ${number - FIRST_SPRINT}`,
        state: number === weeks ? "active" : "closed",
        start_date: dayOf(start),
        due_date: dayOf(start + 11 * DAY),
        created_at: dayOf(start),
      };
    });
  }

  /** The same visibility or, sometimes, a more restricted one. */
  #upTo(visibility: Visibility): Visibility {
    if (this.#random.next() < 0.6) return visibility;
    return this.#random.pick(LEVELS.slice(0, LEVELS.indexOf(visibility) + 1));
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

/** Divides a staff into workers and others who report issues, without guests and blocked users. */
function peopleOf(staff: readonly User[], members: Members): People {
  const active = staff.filter(({ state }) => state !== "blocked").map(({ username }) => username);
  const isWorker = (username: string) =>
    members[username] !== "reporter" && members[username] !== "guest";
  return {
    workers: active.filter(isWorker),
    others: active.filter((username) => members[username] === "reporter"),
    areCompany: true,
  };
}

function releases(count: number): Milestone[] {
  return Array.from({ length: count }, (_, index) => ({
    title: `v1.${index}`,
    description: `What version 1.${index} brings.`,
    state: index === count - 1 ? "active" : "closed",
  }));
}

/** A name as a path: without accents, in lower case. */
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
