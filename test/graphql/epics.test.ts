import { beforeEach, expect, it, onTestFinished } from "vitest";
import { type Person, type TestApp, testApp } from "../helpers.ts";
import { ask, NOT_AVAILABLE, send } from "./ask.ts";

let app: TestApp;
beforeEach(async () => {
  app = await testApp({ background: true });
  onTestFinished(() => app.dispose());
});

const EPIC = "gid://gitlab/WorkItems::Type/8";
const EPICS = "/groups/acme/epics";

async function change(name: string, input: object, selected = "", as: Person = "owner") {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${name}(input: $input) { errors ${selected} } }`;
  const { data, errors } = await send(app, as, query, { input });
  return errors ? errors.map(({ message }: { message: string }) => message) : data[name];
}

async function epic(title: string, input: object = {}, namespacePath = "acme") {
  const sent = { namespacePath, title, workItemTypeId: EPIC, ...input };
  const made = await change("workItemCreate", sent, "workItem { id iid }");
  expect(made).toMatchObject({ errors: [], workItem: { iid: expect.any(String) } });
  return made.workItem as { id: string; iid: string };
}

const issue = async (json: object = {}, path = "acme%2Fsite") => {
  const made = await app.call(`POST /projects/${path}/issues`, {
    as: "owner",
    json: { title: "An issue", ...json },
  });
  return { id: `gid://gitlab/WorkItem/${made.json.id}`, iid: String(made.json.iid) };
};

const rest = async (iid: string) => (await app.call(`GET ${EPICS}/${iid}`, { as: "owner" })).json;

it("are made in a group, and read with their place, kind and widgets", async () => {
  await app.call("POST /groups/acme/labels", {
    as: "owner",
    json: { name: "goal", color: "#fff" },
  });
  const { labels } = (
    await ask(app, `{ group(fullPath: "acme") { labels { nodes { id title } } } }`)
  ).group;
  const goal = labels.nodes.find(({ title }: { title: string }) => title === "goal").id;
  const { id, iid } = await epic("Ship it", {
    description: "All of **it**",
    confidential: true,
    colorWidget: { color: "#ff0000" },
    labelsWidget: { labelIds: [goal] },
    startAndDueDateWidget: { startDate: "2026-01-01", dueDate: "2026-02-01" },
  });
  expect(await rest(iid)).toMatchObject({
    title: "Ship it",
    description: "All of **it**",
    confidential: true,
    color: "#ff0000",
    labels: ["goal"],
    start_date: "2026-01-01",
    start_date_is_fixed: true,
    due_date: "2026-02-01",
  });
  const selected = `id iid title state confidential webUrl webPath reference full: reference(full: true) project { id }
    namespace { fullPath } workItemType { name isGroupWorkItemType } archived author { username }
    features { color { color textColor } description { description } labels { labels { nodes { title } } }
      startAndDueDate { startDate dueDate isFixed } assignees { type } milestone { type } iteration { type }
      development { type } timeTracking { type } weight { weight } hierarchy { hasParent } }
    widgets { type }`;
  const shown = {
    id,
    iid,
    title: "Ship it",
    state: "OPEN",
    confidential: true,
    webUrl: `http://pm.test/groups/acme/-/epics/${iid}`,
    webPath: `/groups/acme/-/epics/${iid}`,
    reference: `&${iid}`,
    full: `acme&${iid}`,
    project: null,
    namespace: { fullPath: "acme" },
    workItemType: { name: "Epic", isGroupWorkItemType: true },
    archived: false,
    author: { username: "owner" },
    features: {
      color: { color: "#ff0000", textColor: "#FFFFFF" },
      description: { description: "All of **it**" },
      labels: { labels: { nodes: [{ title: "goal" }] } },
      startAndDueDate: { startDate: "2026-01-01", dueDate: "2026-02-01", isFixed: true },
      ...{ assignees: null, milestone: null, iteration: null, development: null },
      timeTracking: null,
      weight: { weight: null },
      hierarchy: { hasParent: false },
    },
  };
  const read = await ask(
    app,
    `query ($id: WorkItemID!) { workItem(id: $id) { ${selected} }
      namespace(fullPath: "acme") { workItem(iid: "${iid}") { ${selected} } } }`,
    { id },
  );
  expect(read.workItem).toMatchObject(shown);
  expect(read.namespace.workItem).toMatchObject(shown);
  const types = read.workItem.widgets.map(({ type }: { type: string }) => type);
  expect(types).toContain("COLOR");
  expect(types).not.toContain("MILESTONE");
  const one = await issue();
  const other = await ask(
    app,
    "query ($id: WorkItemID!) { workItem(id: $id) { features { color { color } } } }",
    one,
  );
  expect(other.workItem.features.color).toBeNull();
});

it("are seen by those who may read their group, confidential ones by its reporters", async () => {
  const open = await epic("Open");
  const secret = await epic("Secret", { confidential: true });
  const inTeam = await epic("Team's", {}, "acme/team");
  const seen = async (as: Person) => {
    const query = `query ($a: WorkItemID!, $b: WorkItemID!, $c: WorkItemID!) {
      a: workItem(id: $a) { title } b: workItem(id: $b) { title } c: workItem(id: $c) { title }
      group(fullPath: "acme") { own: workItems { nodes { title } }
        all: workItems(includeDescendants: true, excludeProjects: true) { count nodes { title } } } }`;
    const { a, b, c, group } = await ask(
      app,
      query,
      { a: open.id, b: secret.id, c: inTeam.id },
      as,
    );
    const titles = (page: { nodes: { title: string }[] }) => page.nodes.map(({ title }) => title);
    return [
      [a, b, c].map((one) => one?.title ?? null),
      titles(group.own),
      titles(group.all),
      group.all.count,
    ];
  };
  const all = ["Open", "Secret", "Team's"];
  expect(await seen("owner")).toEqual([all, ["Open", "Secret"], all, 3]);
  expect(await seen("reporter")).toEqual([all, ["Open", "Secret"], all, 3]);
  expect((await seen("guest"))[0]).toEqual(["Open", null, "Team's"]);
  expect(await seen("stranger")).toEqual([["Open", null, null], ["Open"], ["Open"], 1]);
  expect(await seen("admin")).toEqual([all, ["Open", "Secret"], all, 3]);
});

it("are listed with what is below a group and above it, as asked", async () => {
  await epic("Acme's");
  await epic("Team's", {}, "acme/team");
  await issue({ title: "Core's" }, "acme%2Fteam%2Fcore");
  const titles = async (path: string, args: string) => {
    const query = `{ group(fullPath: "${path}") { workItems(${args}) { nodes { title } } }
      namespace(fullPath: "${path}") { workItems(${args}) { nodes { title } } } }`;
    const { group, namespace } = await ask(app, query);
    expect(namespace).toEqual(group);
    return group.workItems.nodes.map(({ title }: { title: string }) => title);
  };
  expect(await titles("acme/team", "sort: CREATED_ASC")).toEqual(["Team's"]);
  expect(await titles("acme/team", "includeDescendants: true")).toEqual(["Team's", "Core's"]);
  expect(await titles("acme/team", "includeAncestors: true")).toEqual(["Acme's", "Team's"]);
  expect(await titles("acme/team", "includeAncestors: true, includeDescendants: true")).toEqual([
    "Acme's",
    "Team's",
    "Core's",
  ]);
  expect(
    await titles("acme/team", "includeDescendants: true, excludeGroupWorkItems: true"),
  ).toEqual(["Core's"]);
  expect(await titles("acme/team", "includeDescendants: true, excludeProjects: true")).toEqual([
    "Team's",
  ]);
  expect(await titles("acme", `search: "team", includeDescendants: true`)).toEqual(["Team's"]);
  const only = `workItemTypeIds: ["${EPIC}"], includeDescendants: true`;
  expect(await titles("acme", only)).toEqual(["Acme's", "Team's"]);
});

it("are changed, closed, linked, subscribed to and deleted by mutations", async () => {
  const { id, iid } = await epic("Ship it");
  const other = await epic("Another");
  const changed = await change(
    "workItemUpdate",
    {
      id,
      title: "Ship it soon",
      stateEvent: "CLOSE",
      descriptionWidget: { description: "New" },
      colorWidget: { color: "#00ff00" },
      startAndDueDateWidget: { startDate: "2026-03-01", isFixed: true },
      notificationsWidget: { subscribed: false },
      awardEmojiWidget: { action: "ADD", name: "tada" },
      currentUserTodosWidget: { action: "ADD" },
    },
    `workItem { title state features { color { color } startAndDueDate { startDate }
      awardEmoji { awardEmoji { nodes { name } } } notifications { subscribed }
      currentUserTodos { currentUserTodos { nodes { targetType targetUrl project { id } group { fullPath }
        targetEntity { __typename name webUrl } } } } } }`,
  );
  expect(changed).toMatchObject({
    errors: [],
    workItem: {
      title: "Ship it soon",
      state: "CLOSED",
      features: {
        color: { color: "#00ff00" },
        startAndDueDate: { startDate: "2026-03-01" },
        awardEmoji: { awardEmoji: { nodes: [{ name: "tada" }] } },
        notifications: { subscribed: false },
        currentUserTodos: {
          currentUserTodos: {
            nodes: [
              {
                targetType: "EPIC",
                targetUrl: `http://pm.test/groups/acme/-/epics/${iid}`,
                project: null,
                group: { fullPath: "acme" },
                targetEntity: {
                  __typename: "WorkItem",
                  name: "Ship it soon",
                  webUrl: `http://pm.test/groups/acme/-/epics/${iid}`,
                },
              },
            ],
          },
        },
      },
    },
  });
  expect(await rest(iid)).toMatchObject({
    title: "Ship it soon",
    state: "closed",
    color: "#00ff00",
  });
  expect(await change("workItemAddLinkedItems", { id, workItemsIds: [other.id] })).toEqual({
    errors: [],
  });
  const linked = `query ($id: WorkItemID!) { workItem(id: $id) { features { linkedItems { linkedItems { nodes {
    linkType workItem { title } } } } } } }`;
  expect((await ask(app, linked, { id })).workItem.features.linkedItems.linkedItems.nodes).toEqual([
    { linkType: "relates_to", workItem: { title: "Another" } },
  ]);
  expect(await change("workItemRemoveLinkedItems", { id, workItemsIds: [other.id] })).toEqual({
    errors: [],
  });
  const plain = await issue();
  expect(await change("workItemAddLinkedItems", { id, workItemsIds: [plain.id] })).toEqual([
    "Epics are linked with epics only.",
  ]);
  expect(
    await change(
      "workItemSubscribe",
      { id, subscribed: true },
      "workItem { features { notifications { subscribed } } }",
    ),
  ).toMatchObject({ workItem: { features: { notifications: { subscribed: true } } } });
  const bulk = { ids: [id, other.id], fullPath: "acme", stateEvent: "REOPEN", confidential: true };
  expect(await change("workItemBulkUpdate", bulk, "updatedWorkItemCount")).toMatchObject({
    updatedWorkItemCount: 2,
  });
  expect(await rest(iid)).toMatchObject({ state: "opened", confidential: true });
  expect(await change("workItemDelete", { id }, "project { id }")).toEqual({
    errors: [],
    project: null,
  });
  expect((await app.call(`GET ${EPICS}/${iid}`, { as: "owner" })).status).toBe(404);
});

it("refuse what epics do not have, and who may not change them", async () => {
  const { id } = await epic("Ship it");
  const refused = (keys: string) => ({
    errors: [`Following widget keys are not supported by Epic type: [${keys}]`],
  });
  for (const [widget, value, key] of [
    ["assigneesWidget", { assigneeIds: [] }, ":assignees_widget"],
    ["milestoneWidget", { milestoneId: null }, ":milestone_widget"],
    ["iterationWidget", { iterationId: null }, ":iteration_widget"],
    ["weightWidget", { weight: 3 }, ":weight_widget"],
    ["notesWidget", { discussionLocked: true }, ":notes_widget"],
    ["timeTrackingWidget", { timeEstimate: "1h" }, ":time_tracking_widget"],
  ] as const) {
    const sent = { id, title: "New", [widget]: value };
    const answer = await change("workItemUpdate", sent);
    expect([widget, "errors" in answer ? answer : { errors: answer }]).toEqual([
      widget,
      refused(key),
    ]);
  }
  const plain = await issue();
  const colored = await change("workItemUpdate", { id: plain.id, colorWidget: { color: "#fff" } });
  expect(colored.errors ?? colored).toEqual([
    "Following widget keys are not supported by Issue type: [:color_widget]",
  ]);
  const update = (as: Person) => change("workItemUpdate", { id, title: "New" }, "", as);
  expect(await update("stranger")).toEqual([NOT_AVAILABLE]);
  expect(await update("guest")).toEqual([NOT_AVAILABLE]);
  expect(await update("reporter")).toEqual({ errors: [] });
  const create = (as: Person) =>
    change("workItemCreate", { namespacePath: "acme", title: "No", workItemTypeId: EPIC }, "", as);
  expect(await create("guest")).toEqual([NOT_AVAILABLE]);
  expect(await create("stranger")).toEqual([NOT_AVAILABLE]);
  const ISSUE = "gid://gitlab/WorkItems::Type/1";
  const convert = (of: string, workItemTypeId: string) =>
    change("workItemConvert", { id: of, workItemTypeId });
  const converted = await convert(id, ISSUE);
  expect(converted.errors ?? converted).toEqual([
    "You are not allowed to change the Work Item type to Issue.",
  ]);
  const promoted = await convert(plain.id, EPIC);
  expect(promoted.errors ?? promoted).toEqual([
    "You are not allowed to change the Work Item type to Epic.",
  ]);
  expect(await change("workItemsReorder", { id, moveBeforeId: plain.id })).toEqual([NOT_AVAILABLE]);
  const permissions = async (as: Person) =>
    (
      await ask(
        app,
        "query ($id: WorkItemID!) { workItem(id: $id) { userPermissions { updateWorkItem deleteWorkItem createNote } } }",
        { id },
        as,
      )
    ).workItem.userPermissions;
  const none = { updateWorkItem: false, deleteWorkItem: false };
  expect(await permissions("owner")).toEqual({
    updateWorkItem: true,
    deleteWorkItem: true,
    createNote: true,
  });
  expect(await permissions("reporter")).toMatchObject({
    updateWorkItem: true,
    deleteWorkItem: false,
  });
  expect(await permissions("guest")).toMatchObject(none);
  expect(await permissions("stranger")).toMatchObject(none);
});

it("have epics and issues below them, as deep as that goes, of which readers see what they may read", async () => {
  const [top, middle] = [await epic("Top"), await epic("Middle", {}, "acme/team")];
  const below = await issue({}, "acme%2Fteam%2Fcore");
  const put = (id: string, parentId: string | null, as: Person = "owner") =>
    change("workItemUpdate", { id, hierarchyWidget: { parentId } }, "", as);
  expect(await put(middle.id, top.id)).toEqual({ errors: [] });
  expect(await put(below.id, middle.id)).toEqual({ errors: [] });
  const hierarchyOf = async (id: string, as: Person = "owner") => {
    const query = `query ($id: WorkItemID!) { workItem(id: $id) { features { hierarchy { hasParent hasChildren
      parent { title } children { nodes { title } } ancestors { nodes { title } }
      rolledUpCountsByType { workItemType { name } countsByState { all } } } } } }`;
    const { hierarchy } = (await ask(app, query, { id }, as)).workItem.features;
    return hierarchy;
  };
  expect(await hierarchyOf(top.id)).toMatchObject({
    hasParent: false,
    hasChildren: true,
    parent: null,
    children: { nodes: [{ title: "Middle" }] },
    rolledUpCountsByType: [
      { workItemType: { name: "Issue" }, countsByState: { all: 0 } },
      { workItemType: { name: "Epic" }, countsByState: { all: 1 } },
    ],
  });
  expect(await hierarchyOf(top.id, "stranger")).toMatchObject({
    hasChildren: false,
    children: { nodes: [] },
    rolledUpCountsByType: [{ countsByState: { all: 0 } }, { countsByState: { all: 0 } }],
  });
  expect(await hierarchyOf(below.id)).toMatchObject({
    hasParent: true,
    parent: { title: "Middle" },
    ancestors: { nodes: [{ title: "Top" }, { title: "Middle" }] },
  });
  const listed = async (args: string) => {
    const query = `query ($ids: [WorkItemID!]) { group(fullPath: "acme") { workItems(includeDescendants: true, ${args}) {
      nodes { title } } } }`;
    const { nodes } = (await ask(app, query, { ids: [top.id] })).group.workItems;
    return nodes.map(({ title }: { title: string }) => title);
  };
  expect(await listed("parentIds: $ids")).toEqual(["Middle"]);
  const deep = "parentIds: $ids, includeDescendantWorkItems: true";
  expect(await listed(deep)).toEqual(["Middle", "An issue"]);
  expect(await listed(`hierarchyFilters: { ${deep} }`)).toEqual(["Middle", "An issue"]);
  expect(await put(middle.id, null)).toEqual({ errors: [] });
  expect(await hierarchyOf(middle.id)).toMatchObject({ hasParent: false });
});

it("are discussed: notes, replies, emoji and to-do items", async () => {
  const { id, iid } = await epic("Ship it");
  const made = await change(
    "createNote",
    { noteableId: id, body: "A note" },
    "note { id url project { id } noteableType }",
  );
  expect(made).toMatchObject({
    errors: [],
    note: {
      url: expect.stringMatching(new RegExp(`/groups/acme/-/epics/${iid}#note_\\d+$`)),
      project: null,
    },
  });
  const note = made.note.id as string;
  expect(await change("updateNote", { id: note, body: "Another" })).toEqual({ errors: [] });
  expect(await change("awardEmojiAdd", { awardableId: note, name: "eyes" })).toEqual({
    errors: [],
  });
  expect(await change("todoCreate", { targetId: id })).toEqual({ errors: [] });
  const read = `query ($id: WorkItemID!) { workItem(id: $id) { userDiscussionsCount features { notes { notes { nodes { body
    awardEmoji { nodes { name } } } } discussions { nodes { noteable { __typename } notes { nodes { body } } } } } } }
    currentUser { todos { nodes { targetType } } } }`;
  const shown = await ask(app, read, { id });
  expect(shown).toMatchObject({
    workItem: {
      userDiscussionsCount: 1,
      features: {
        notes: {
          notes: { nodes: [{ body: "Another", awardEmoji: { nodes: [{ name: "eyes" }] } }] },
          discussions: {
            nodes: [
              { noteable: { __typename: "WorkItem" }, notes: { nodes: [{ body: "Another" }] } },
            ],
          },
        },
      },
    },
    currentUser: { todos: { nodes: [{ targetType: "EPIC" }] } },
  });
  const ofEpics = `{ currentUser { todos(type: [EPIC]) { nodes { targetType } } } }`;
  expect((await ask(app, ofEpics)).currentUser.todos.nodes).toHaveLength(1);
  expect(await change("destroyNote", { id: note }, "", "guest")).toEqual([NOT_AVAILABLE]);
  expect(await change("destroyNote", { id: note })).toEqual({ errors: [] });
});

it("are known to older documents by the type Epic, which lists, changes and places them", async () => {
  const selected = "epic { id iid title state color labels { nodes { title } } }";
  await app.call("POST /groups/acme/labels", {
    as: "owner",
    json: { name: "goal", color: "#fff" },
  });
  const made = await change(
    "createEpic",
    {
      ...{ groupPath: "acme", title: "Ship it", description: "**All**", addLabels: ["goal"] },
      ...{ color: "#ff0000", startDateFixed: "2026-01-02", startDateIsFixed: true },
    },
    selected,
    "reporter",
  );
  expect(made).toEqual({
    errors: [],
    epic: {
      ...{ id: expect.stringMatching(/^gid:\/\/gitlab\/Epic\/\d+$/), iid: "1", title: "Ship it" },
      ...{ state: "opened", color: "#ff0000", labels: { nodes: [{ title: "goal" }] } },
    },
  });
  expect(await change("createEpic", { groupPath: "acme", title: "No" }, "", "guest")).toEqual([
    NOT_AVAILABLE,
  ]);
  const child = await change("createEpic", { groupPath: "acme", title: "Part" }, selected);
  const [first, second] = [await issue(), await issue({ title: "Second" })];
  const at = { groupPath: "acme", iid: "1", projectPath: "acme/site" };
  for (const { iid } of [first, second]) {
    const added = await change(
      "epicAddIssue",
      { ...at, issueIid: iid },
      "epic { iid } epicIssue { iid epicIssueId epic { iid } }",
    );
    expect(added).toMatchObject({ errors: [], epicIssue: { iid, epic: { iid: "1" } } });
  }
  const ofIssue = (id: string) => id.replace("WorkItem", "EpicIssue");
  const placed = { id: child.epic.id, newParentId: made.epic.id };
  expect(await change("epicTreeReorder", { baseEpicId: made.epic.id, moved: placed })).toEqual({
    errors: [],
  });
  const moved = {
    ...{
      id: ofIssue(second.id),
      adjacentReferenceId: ofIssue(first.id),
      relativePosition: "BEFORE",
    },
  };
  const reordered = await change("epicTreeReorder", { baseEpicId: made.epic.id, moved });
  expect(reordered).toEqual({ errors: [] });
  const query = `query ($path: ID!, $iid: ID) { group(fullPath: $path) {
    epic(iid: $iid) {
      title description descriptionHtml confidential startDate startDateIsFixed startDateFixed dueDate
      author { username } group { fullPath } workItem { iid } parent { iid } hasParent hasChildren
      children { nodes { iid parent { iid } } } issues { nodes { iid webUrl epicIssueId } }
      descendantCounts { openedEpics closedEpics openedIssues closedIssues }
      reference webPath fullReference: reference(full: true) userDiscussionsCount subscribed
      notes { nodes { system } } discussions { nodes { id } } } } }`;
  const { group } = await ask(app, query, { path: "acme", iid: "1" });
  expect(group.epic).toMatchObject({
    ...{ title: "Ship it", description: "**All**", confidential: false, dueDate: null },
    ...{ startDate: "2026-01-02", startDateIsFixed: true, author: { username: "reporter" } },
    ...{ group: { fullPath: "acme" }, workItem: { iid: "1" }, parent: null },
    ...{ hasParent: false, hasChildren: true, subscribed: true },
    children: { nodes: [{ iid: "2", parent: { iid: "1" } }] },
    issues: { nodes: [{ iid: second.iid }, { iid: first.iid }] },
    descendantCounts: { openedEpics: 1, closedEpics: 0, openedIssues: 2, closedIssues: 0 },
    ...{ reference: "&1", fullReference: "acme&1", webPath: "/groups/acme/-/epics/1" },
  });
  expect(group.epic.descriptionHtml).toContain("<strong>All</strong>");
  const closed = await change(
    "updateEpic",
    { groupPath: "acme", iid: "2", stateEvent: "CLOSE", title: "Done", confidential: true },
    selected,
  );
  expect(closed.epic).toMatchObject({ title: "Done", state: "closed" });
  const list = async (args: string, as: Person = "owner") => {
    const document = `{ group(fullPath: "acme") { epics${args} { nodes { iid } } } }`;
    const { data } = await send(app, as, document);
    return data.group.epics.nodes.map(({ iid }: { iid: string }) => iid);
  };
  expect(await list("")).toEqual(["2", "1"]);
  expect(await list("", "guest")).toEqual(["1"]);
  expect(await list("(sort: TITLE_ASC)")).toEqual(["2", "1"]);
  expect(await list("(state: opened)")).toEqual(["1"]);
  expect(await list('(labelName: ["goal"], search: "ship")')).toEqual(["1"]);
  expect(await list("(topLevelHierarchyOnly: true)")).toEqual(["1"]);
  expect(await list('(iids: ["2"])')).toEqual(["2"]);
  const inTeam = await change("createEpic", { groupPath: "acme/team", title: "Team's" });
  expect(inTeam.errors).toEqual([]);
  expect(await list("")).toHaveLength(3);
  expect(await list("(includeDescendantGroups: false)")).toHaveLength(2);
  const epicOf = `{ project(fullPath: "acme/site") { issues(iid: "${first.iid}") { nodes {
    hasEpic epic { iid title } } } } }`;
  const [seen] = (await ask(app, epicOf)).project.issues.nodes;
  expect(seen).toEqual({ hasEpic: true, epic: { iid: "1", title: "Ship it" } });
  const taken = { projectPath: "acme/site", iid: first.iid, epicId: null };
  expect(await change("issueSetEpic", taken, "issue { epic { iid } }")).toEqual({
    ...{ errors: [], issue: { epic: null } },
  });
  const unsubscribed = { groupPath: "acme", iid: "1", subscribedState: false };
  expect(await change("epicSetSubscription", unsubscribed, "epic { subscribed }")).toEqual({
    ...{ errors: [], epic: { subscribed: false } },
  });
});
