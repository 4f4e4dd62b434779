import type { Seed } from "../../src/index.ts";
import type { Random } from "./random.ts";

type Group = NonNullable<Seed["groups"]>[number];
type Project = NonNullable<Group["projects"]>[number];
type Pipeline = NonNullable<Project["pipelines"]>[number];
type Schedule = NonNullable<Project["schedules"]>[number];
type Deployment = NonNullable<NonNullable<Project["environments"]>[number]["deployments"]>[number];

/**
 * What a project's team builds and runs: pipelines of releases and of open merge requests, where
 * they went, and hooks.
 *
 * @param inCompany whether others are told of it
 * @param now when it ends, in epoch milliseconds
 * @param withSecrets whether there are secrets: variables and triggers
 */
export function deliveryOf(
  { path, releases = [], merge_requests = [] }: Project,
  { team, inCompany, now, withSecrets }: Circumstances,
  random: Random,
): Pick<Project, "pipelines" | "schedules" | "triggers" | "variables" | "environments" | "hooks"> {
  const author = (given: string | undefined) => given ?? (team[0] as string);
  const ofReleases = releases.map(({ tag, author: by, released_at }): Pipeline & Deployment => ({
    user: author(by),
    ref: tag,
    tag: true,
    created_at: released_at,
    jobs: [],
  }));
  const ofRequests = merge_requests
    .filter(({ state = "opened" }) => state === "opened")
    .map(({ author: by, source_branch, created_at }): Pipeline => {
      const isBroken = random.chance(0.15);
      const jobs = jobsOf(random, isBroken);
      return { user: by, ref: source_branch, created_at, jobs };
    });
  if (ofReleases.length + ofRequests.length === 0) return {};
  const ofMerges = merge_requests
    .filter(({ state }) => state === "merged")
    .slice(-MERGES)
    .map(({ ended_by, ended_at }): Pipeline => {
      const jobs = jobsOf(random, random.chance(0.1));
      return { user: author(ended_by), ref: "main", created_at: ended_at, jobs };
    });
  const nightly = random.chance(0.4) ? nightlyOf(author(undefined), now, random) : undefined;
  const deployments = ofReleases.map(({ jobs, ...deployment }) => deployment);
  const pipelines = [
    ...ofReleases.map((pipeline): Pipeline => {
      const deploy = { name: "deploy", stage: "deploy", duration: random.integer(20, 90) };
      return { ...pipeline, jobs: [...jobsOf(random, false), deploy] };
    }),
    ...ofRequests,
    ...ofMerges,
    ...(nightly?.pipelines ?? []),
  ].sort((one, other) => timeOf(one) - timeOf(other));
  return {
    pipelines,
    ...(nightly && {
      schedules: [
        {
          ...nightly.schedule,
          runs: nightly.pipelines.map((pipeline) => pipelines.indexOf(pipeline) + 1),
        },
      ],
    }),
    ...(withSecrets && secretsOf(path, author(undefined), random)),
    environments: [
      { name: "staging", external_url: `https://${path}.staging.example.com`, deployments },
      // Every other release is only tried out.
      {
        name: "production",
        external_url: `https://${path}.example.com`,
        deployments: deployments.filter((_, index) => index % 2 === 0),
      },
    ],
    ...(inCompany && {
      hooks: [
        {
          url: `https://deliveries.example.com/${path}`,
          name: "Deliveries",
          description: "Shows what runs where",
          events: ["releases", "deployment"],
        },
      ],
    }),
  };
}

/** What is known of a project's team. */
interface Circumstances {
  team: readonly string[];
  inCompany: boolean;
  now: number;
  withSecrets: boolean;
}

const timeOf = ({ created_at }: Pipeline) => Date.parse(created_at as string);

/** Merges whose pipelines are kept. */
const MERGES = 4;
/** Nights whose pipelines are kept, and the hour at which they start. */
const NIGHTS = 3;
const NIGHT = 2;
const DAY = 86_400_000;

/** What runs every night, if it isn't paused, and did so in the last ones. */
function nightlyOf(
  owner: string,
  now: number,
  random: Random,
): { schedule: Schedule; pipelines: Pipeline[] } {
  const minute = random.integer(0, 59);
  const tonight = Math.floor(now / DAY) * DAY + (NIGHT * 60 + minute) * 60_000;
  const last = tonight <= now ? tonight : tonight - DAY;
  const active = random.chance(0.8);
  const pipelines = Array.from({ length: NIGHTS }, (_, index): Pipeline => {
    const at = last - (NIGHTS - 1 - index + (active ? 0 : 1)) * DAY;
    return {
      user: owner,
      ref: "main",
      source: "schedule",
      created_at: instantOf(at),
      jobs: jobsOf(random, random.chance(0.1)),
    };
  });
  const schedule = {
    owner,
    description: "Nightly tests",
    ref: "main",
    cron: `${minute} ${NIGHT} * * *`,
    active,
    created_at: instantOf(last - 90 * DAY),
  };
  return { schedule, pipelines };
}

const instantOf = (at: number) => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** How jobs get to where they deploy, and, for some projects, what else starts pipelines. */
function secretsOf(
  path: string,
  owner: string,
  random: Random,
): Pick<Project, "variables" | "triggers"> {
  const hosts = { staging: `${path}.staging.example.com`, production: `${path}.example.com` };
  return {
    variables: [
      ...Object.entries(hosts).map(([environment_scope, value]) => ({
        key: "DEPLOY_HOST",
        value,
        environment_scope,
      })),
      {
        key: "DEPLOY_TOKEN",
        value: random.hex(32),
        description: "Of the user who deploys",
        masked: true,
        protected: true,
      },
    ],
    ...(random.chance(0.5) && { triggers: [{ owner, description: "Rebuilds the website" }] }),
  };
}

function jobsOf(random: Random, isBroken: boolean): Pipeline["jobs"] {
  const style = random.chance(0.1);
  return [
    { name: "compile", stage: "build", duration: random.integer(30, 180) },
    {
      name: "test",
      stage: "test",
      duration: random.integer(60, 600),
      coverage: random.integer(600, 950) / 10,
      ...(isBroken && { status: "failed" as const }),
    },
    {
      name: "style",
      stage: "test",
      duration: random.integer(10, 40),
      allow_failure: true,
      ...(style && { status: "failed" as const }),
    },
  ];
}
