/**
 * A template of work: an issue, the discussion, and the commits. `{thing}` stands for one of {@link THINGS}, `{when}`
 * for one of {@link CIRCUMSTANCES}, `{product}` for the project's name.
 */
export interface Story {
  type: "bug" | "feature" | "incident" | "maintenance" | "question" | "security";
  title: string;
  description: string;
  notes: readonly string[];
  /** Titles of the commits that resolve it; none if discussion does. */
  commits: readonly string[];
}

export const THINGS = [
  "addresses",
  "API keys",
  "attachments",
  "audit entries",
  "delivery slots",
  "discount codes",
  "exchange rates",
  "exports",
  "invoices",
  "order confirmations",
  "password resets",
  "price lists",
  "refunds",
  "reminders",
  "reports",
  "saved searches",
  "stock levels",
  "tax rates",
  "translations",
  "webhooks",
];

export const CIRCUMSTANCES = [
  "after midnight UTC",
  "behind a proxy",
  "for accounts with thousands of orders",
  "for names with accents",
  "in Safari",
  "in time zones east of UTC",
  "on slow connections",
  "on the last day of the month",
  "when the database fails over",
  "when two people save at once",
];

export const STORIES: readonly Story[] = [
  {
    type: "bug",
    title: "{Thing} are lost {when}",
    description: `{Thing} that were just saved are gone {when}. No error is shown.

1. Open {product}.
2. Change one of the {thing}, and save.
3. Load the page again: the change is not there.

It should be kept, or there should be an error.`,
    notes: [
      "I can reproduce this on staging.",
      "It is the retry: it sends the old {thing} again.",
      "Two customers wrote about it this week. Can it be in the next release?",
      "Fixed on staging, please try again.",
      "Works for me now. Thanks!",
    ],
    commits: [
      "Add a failing test for {thing} {when}",
      "Keep {thing} {when}",
      "Tell when {thing} can't be saved",
    ],
  },
  {
    type: "bug",
    title: "Wrong number of {thing} {when}",
    description: `The page says there are more {thing} than it lists, only {when}. The export has the right number.`,
    notes: [
      "The count comes from the cache, the list doesn't.",
      "How long has it been like this?",
      "Since the last release, I think. The one before was right.",
      "Then it is the new query. I'll have a look.",
    ],
    commits: ["Count {thing} where they are listed", "Drop the cached number of {thing}"],
  },
  {
    type: "bug",
    title: "Timeout while loading {thing} {when}",
    description: `Loading {thing} takes longer than 30 seconds {when}, and ends with a 504. The log of {product} has one query a row.`,
    notes: [
      "Here is the plan: it reads the whole table.",
      "An index on the account would do.",
      "From 31 s to 40 ms with it.",
    ],
    commits: ["Load {thing} in one query", "Add an index for {thing}"],
  },
  {
    type: "feature",
    title: "Filter {thing} by date",
    description: `People who look for the {thing} of one month page through all of them. Let the list take a first and a last day.

- [ ] the API
- [ ] the list
- [ ] documentation`,
    notes: [
      "Are both days included?",
      "Yes, as in the reports.",
      "Could we keep the choice in the address, so that it can be shared?",
      "Good idea, I'll add that.",
    ],
    commits: [
      "Take two dates when listing {thing}",
      "Keep the dates of {thing} in the address",
      "Document the dates of {thing}",
    ],
  },
  {
    type: "feature",
    title: "Import {thing} from a spreadsheet",
    description: `Whoever moves to {product} has {thing} in a spreadsheet, and types them in. An import should show what it would do first, and name the lines it can't read.`,
    notes: [
      "Which columns are needed, and which may be missing?",
      "I've put three customers' files on the wiki.",
      "What if it is imported twice?",
      "Then nothing should change: the number in the first column says which is which.",
    ],
    commits: [
      "Read {thing} from CSV",
      "Show what an import of {thing} would change",
      "Name the lines that can't be imported",
      "Import {thing} twice without doubling them",
    ],
  },
  {
    type: "incident",
    title: "{product} answers 503 {when}",
    description: `Alert: more than 5% of the requests to {product} fail {when}. Started with the deployment of {thing} this morning.`,
    notes: [
      "Rolled back, the errors are going down.",
      "The pool of connections was used up by the job that sends {thing}.",
      "Post-mortem is on the wiki.",
    ],
    commits: ["Limit the connections of the job that sends {thing}"],
  },
  {
    type: "maintenance",
    title: "Upgrade the library that reads {thing}",
    description: `The version {product} uses gets no fixes from next quarter on. The new one has other defaults: see its notes of changes.`,
    notes: ["The tests pass with it, but for two.", "Those two tested the old default."],
    commits: ["Upgrade the library that reads {thing}", "Say which format {thing} have"],
  },
  {
    type: "maintenance",
    title: "Remove the old code for {thing}",
    description: `Nobody has used the old {thing} for half a year, says the log. It is a third of the module, and every change has to mind it.`,
    notes: ["Is the migration through everywhere?", "Yes, since the spring."],
    commits: ["Remove the old code for {thing}", "Drop the tables of the old {thing}"],
  },
  {
    type: "question",
    title: "How long do we keep {thing}?",
    description: `A customer asks how long {product} keeps their {thing}, and I couldn't find it in the documentation.`,
    notes: [
      "Two years, unless the contract says otherwise.",
      "It's on the wiki now, under Operations.",
    ],
    commits: [],
  },
  {
    type: "security",
    title: "{Thing} of other accounts can be read by their number",
    description: `With a valid session and the number of somebody else's {thing}, {product} answers 200 with their content. Found in the yearly audit.`,
    notes: [
      "Confirmed. The check is in the list, but not in the single page.",
      "The log shows nobody made use of it.",
    ],
    commits: ["Check whose {thing} are asked for", "Test that others' {thing} answer 404"],
  },
];

/** Comments on merge requests. */
export const REVIEW = [
  "Could you name this after what it gives?",
  "Nice and short. Does it hold for an empty list as well?",
  "It does, and there is a test for it now.",
  "The pipeline failed on the linter only.",
  "I'd rather see this in its own function, but that can come later.",
  "Done, please have another look.",
  "Tried it on staging: works as described.",
  "Looks good to me!",
];

/** Questions to the assignee of work in progress. */
export const QUESTIONS = [
  "@{user} could you have a look?",
  "@{user} do you think this can be done by the end of the sprint?",
  "Who could help here? @{user} maybe, you know this part best.",
];

/** Fills the placeholders of a text; `{Thing}` is capitalized. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (blank, name: string) => {
    const value = values[name.toLowerCase()];
    if (value === undefined) return blank;
    return /^[A-Z]/.test(name) ? value.charAt(0).toUpperCase() + value.slice(1) : value;
  });
}
