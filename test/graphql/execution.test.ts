import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  arg,
  costing,
  deprecated,
  first,
  GraphError,
  type GraphqlModule,
  inputType,
  int,
  interfaceType,
  list,
  loaded,
  one,
  oneOf,
  property,
  required,
  rowType,
  string,
  unionType,
  valueType,
} from "../../src/graphql/declare.ts";
import { GRAPHQL, graphqlResource } from "../../src/graphql/index.ts";
import { type TestApp, testApp } from "../helpers.ts";
import { ask, messagesOf, post } from "./ask.ts";

/** Rows of three kinds, of which the schema has two. */
const from = `(select 1 as id, 'Cat' as kind, 'Tom' as name, 2 as friend, 9 as home
  union all select 2, 'Dog', 'Rex', 1, 9 union all select 3, 'Fish', 'Dory', 1, 9 union all select 4, 'Cat', null, 7, 9) t`;
const rows = { from, key: "t.id" };
const animal = interfaceType(
  "Animal",
  "An animal.",
  { id: required(int("t.id")), name: string("t.name"), friend: one("Animal", "t.friend") },
  { ...rows, typeName: { columns: ["t.kind"], of: ([kind]) => String(kind) } },
);
const kinds = ["Cat", "Dog"].map((name) =>
  rowType(name, {
    about: `A ${name}.`,
    ...rows,
    implements: ["Animal"],
    fields: { [`loud${name}`]: required(string("t.name")) },
  }),
);
/** How often the sounds of animals were loaded, and of how many. */
const loads: number[] = [];
const choice = inputType("Choice", "What is sent back.", {
  word: arg.string,
  number: arg.withDefault(arg.int, 7),
  more: arg.list(arg.int),
});
const stone = valueType("Stone", "A stone.", {
  weight: required(property("Int")),
  parts: property("[Stone!]"),
  holes: property("[Stone]"),
  needed: required(property("Stone")),
});
const grid = [
  [1, 2],
  [3, null],
];

/** What the API's own types don't show. */
const graphqlModule: GraphqlModule = {
  types: [animal, ...kinds, stone, unionType("Either", "One or the other.", ["Cat", "Stone"])],
  extend: {
    Query: {
      animals: list("Animal", { query: () => ({}) }),
      animal: first("Animal", { query: () => ({ order: [{ sql: "t.id", descending: true }] }) }),
      nobody: required(first("Cat", { query: () => ({ where: { sql: "t.id = 0", values: [] } }) })),
      pair: property("[Either]", () => [
        { type: "Cat", key: 1 },
        { type: "Stone", key: { weight: 7 } },
        null,
        { type: "Cat", key: 0 },
      ]),
      stone: property("Stone", () => ({
        weight: 1,
        parts: [{ weight: 2 }, { weight: null }],
        holes: [{ weight: 3 }, {}, null],
        needed: null,
      })),
      grid: property("[[Int]!]", () => grid),
      fullGrid: property("[[Int!]]", () => grid),
      never: property("String", () => {
        throw new GraphError("never");
      }),
      always: required(
        property("String", () => {
          throw new GraphError("always");
        }),
      ),
      home: property("Stone", () => ({ weight: 1 })),
      sent: property("String", (_, __, args) => JSON.stringify(args), {
        choice: arg.input(choice),
        choices: arg.list(arg.input(choice)),
      }),
    },
    Cat: {
      sound: loaded("String", (keys) => {
        loads.push(keys.length);
        return new Map(keys.filter((key) => key !== 4).map((key) => [key, `meow ${key}`]));
      }),
      friends: costing(
        5,
        loaded("[Animal!]!", () => new Map([[1, [2, 4]]]), { empty: [] }),
      ),
      home: loaded("Stone", (keys) => new Map(keys.map((key) => [key, { weight: key }])), {
        key: "t.home",
      }),
      best: deprecated("Use friends.", oneOf("Animal", { Cat: "t.home", Dog: "t.friend" })),
    },
    Stone: {
      fails: property("Int", ({ weight }: { weight: number }) => {
        if (weight === 2) throw new GraphError("two is too much");
        return weight;
      }),
      of: property("Animal", () => 1),
    },
  },
};

const TOY = "/api/toygraph";
let app: TestApp;

beforeAll(async () => {
  const resource = graphqlResource(async () => [graphqlModule]);
  const routes = resource.routes.map((route) => ({ ...route, path: TOY }));
  const owns = (path: string) => path === TOY;
  const mount = { ...GRAPHQL, name: "Toy", owns, resources: [{ ...resource, routes }] };
  app = await testApp({ extra: [mount] });
});
afterAll(() => app.dispose());

/** The answer to a query on the toy's types. */
async function toy(query: string) {
  const { json } = await app.call(`POST ${TOY}`, { json: { query } });
  const errors = json.errors?.map(({ message, path }: Record<string, unknown>) => [message, path]);
  return { text: JSON.stringify(json.data), errors: errors ?? [] };
}

describe("nulls", () => {
  it("stand for rows that are none of the schema's types", async () => {
    expect(await toy("{animals{__typename id}}")).toEqual({
      text: '{"animals":null}',
      errors: [["Cannot return null for non-nullable field animals.", ["animals", 2]]],
    });
  });

  it("in required fields become the object's around them", async () => {
    expect(await toy("{stone{parts{weight}}}")).toEqual({
      text: '{"stone":{"parts":null}}',
      errors: [
        ["Cannot return null for non-nullable field weight.", ["stone", "parts", 1, "weight"]],
      ],
    });
    expect(await toy("{stone{holes{weight}}}")).toEqual({
      text: '{"stone":{"holes":[{"weight":3},null,null]}}',
      errors: [
        ["Cannot return null for non-nullable field weight.", ["stone", "holes", 1, "weight"]],
      ],
    });
    expect((await toy("{stone{a:needed{weight}}}")).text).toBe('{"stone":null}');
    expect((await toy("{home{weight} always}")).text).toBe("null");
    expect((await toy("{home{weight} nobody{id}}")).text).toBe("null");
  });

  it("of required columns become the row's", async () => {
    const { text, errors } = await toy("{pair{...on Cat{friend{friend{...on Cat{loudCat}}}}}}");
    expect([text, errors]).toEqual([
      '{"pair":[{"friend":{"friend":{"loudCat":"Tom"}}},{},null,null]}',
      [],
    ]);
  });

  it("in lists of lists go as far as they must", async () => {
    expect((await toy("{grid}")).text).toBe('{"grid":[[1,2],[3,null]]}');
    const { text, errors } = await toy("{fullGrid}");
    expect(text).toBe('{"fullGrid":[[1,2],null]}');
    expect(errors).toHaveLength(1);
  });

  it("stand for the items of a list whose fields fail", async () => {
    expect(await toy("{stone{parts{fails}}}")).toEqual({
      text: '{"stone":{"parts":[{"fails":null},{"fails":null}]}}',
      errors: [["two is too much", ["stone", "parts", 0, "fails"]]],
    });
  });

  it("stand for fields that fail, with an error for each place", async () => {
    expect(await toy("{a:never b:never home{weight}}")).toEqual({
      text: '{"a":null,"b":null,"home":{"weight":1}}',
      errors: [
        ["never", ["a"]],
        ["never", ["b"]],
      ],
    });
    expect(await toy("{always}")).toEqual({ text: "null", errors: [["always", ["always"]]] });
  });
});

describe("fragments", () => {
  it("apply to interfaces, unions and objects", async () => {
    const query = `{pair{__typename ...on Either{...on Cat{a:id}} ...on Animal{b:name} ...on Stone{weight}}}`;
    expect((await toy(query)).text).toBe(
      '{"pair":[{"__typename":"Cat","a":1,"b":"Tom"},{"__typename":"Stone","weight":7},null,null]}',
    );
    const { text } = await toy("{home{of{__typename ...on Dog{id} ...on Cat{name}}}}");
    expect(text).toBe('{"home":{"of":{"__typename":"Cat","name":"Tom"}}}');
  });

  it("merge their fields in the order in which they are first named", async () => {
    const query = `query($yes: Boolean = true) {
      home{weight} ...A ...@skip(if: $yes){z: __typename} ...B @include(if: $yes) home{t: __typename}}
      fragment A on Query {home{w: weight} ...B}
      fragment B on Query {y: __typename home{v: weight weight}}`;
    expect((await toy(query)).text).toBe(
      '{"home":{"weight":1,"w":1,"v":1,"t":"Stone"},"y":"Query"}',
    );
  });

  it("that contain themselves are refused", async () => {
    const { text, errors } = await toy(
      "{...A} fragment A on Query{...B} fragment B on Query{...A}",
    );
    expect([text, errors.length]).toEqual([undefined, 1]);
  });
});

describe("fields that are loaded", () => {
  it("are loaded once for all rows of a level", async () => {
    loads.length = 0;
    const { text } = await toy(
      "{animals2:pair{...on Cat{sound friend{...on Cat{sound}}}} animal{...on Cat{sound}}}",
    );
    expect(text).toBe(
      '{"animals2":[{"sound":"meow 1","friend":{}},{},null,null],"animal":{"sound":null}}',
    );
    expect(loads).toEqual([1, 1]);
  });

  it("give rows, values by other columns, and what is empty", async () => {
    const { text } = await toy(
      "{animal{...on Cat{id friends{id} home{weight}}} pair{...on Cat{friends{id name}}}}",
    );
    expect(text).toBe(
      '{"animal":{"id":4,"friends":[],"home":{"weight":9}},"pair":[{"friends":[{"id":2,"name":"Rex"},{"id":4,"name":null}]},{},null,null]}',
    );
  });
});

describe("arguments", () => {
  const QUERY = "query($c: Choice $l: [Choice!]) {sent(choice: $c choices: $l)}";
  const sent = async (variables: object, query = QUERY) => {
    const { json } = await app.call(`POST ${TOY}`, { json: { query, variables } });
    return json.errors?.[0].message ?? JSON.parse(json.data.sent);
  };

  it("have their defaults, and no nulls, wherever they are", async () => {
    expect(await sent({})).toEqual({});
    expect(await sent({ c: null, l: null })).toEqual({});
    expect(await sent({ c: { word: null } })).toEqual({ choice: { number: 7 } });
    expect(await sent({ c: { number: null }, l: [{ word: null }, { word: "a" }] })).toEqual({
      choice: {},
      choices: [{ number: 7 }, { word: "a", number: 7 }],
    });
    expect(await sent({}, "{sent(choice:{word:null more:[1]} choices:[{number:null}])}")).toEqual({
      choice: { more: [1], number: 7 },
      choices: [{}],
    });
  });

  it("that are single values make lists of one", async () => {
    expect(await sent({ c: { more: 1 }, l: { word: "a" } })).toEqual({
      choice: { more: [1], number: 7 },
      choices: [{ word: "a", number: 7 }],
    });
  });

  it("are not too long lists, wherever they are", async () => {
    const refused = "A list of an argument has more than 500 values";
    expect(await sent({ c: { more: Array(501).fill(1) } })).toBe(refused);
    expect(await sent({ l: [{ more: Array(501).fill(1) }] })).toBe(refused);
  });

  it("are texts that a database can have", async () => {
    const refused = "A text of an argument is not valid Unicode, or has a null character";
    expect(await sent({ c: { word: "a\u0000" } })).toBe(refused);
    expect(await sent({ l: [{ word: "\ud800" }] })).toBe(refused);
  });
});

describe("names in the answer", () => {
  it("may be any", async () => {
    const query =
      "{__proto__: home{__proto__: weight constructor: __typename} toString: __typename}";
    expect((await toy(query)).text).toBe(
      '{"__proto__":{"__proto__":1,"constructor":"Stone"},"toString":"Query"}',
    );
  });

  it("of introspection may be any", async () => {
    const { text } = await toy('{__proto__: __type(name:"Stone"){__proto__: name}}');
    expect(text).toBe('{"__proto__":{"__proto__":"Stone"}}');
  });
});

describe("conditions", () => {
  it("that are null are refused", async () => {
    const query = 'query($yes: Boolean = true) {echo(text:"") @include(if: $yes)}';
    const answer = await post(app, query, { body: { variables: { yes: null } } });
    expect([answer.status, messagesOf(answer).length, answer.json.data]).toEqual([
      200,
      1,
      undefined,
    ]);
  });

  it("that leave everything out leave an empty object", async () => {
    const { json } = await post(app, '{echo(text:"") @skip(if:true)}');
    expect(json).toEqual({ data: {} });
  });
});

describe("statements", () => {
  const DOCUMENT = `query($first: Int, $labels: Boolean = true) {
    projects(first: $first) {count nodes {
      name group {fullPath}
      issues(first: 20) {count pageInfo {hasNextPage} nodes {
        title author {username} milestone {title}
        labels @include(if: $labels) {nodes {title}} assignees {edges {cursor node {name}}}}}}}}`;
  let filled: TestApp;

  beforeAll(async () => {
    const issues = Array.from({ length: 5 }, (_, n) => ({
      title: `Issue ${n}`,
      labels: ["A", "B"],
      assignees: ["owner"],
      author: "admin",
      milestone: "m",
    }));
    filled = await testApp({
      seed: {
        users: [
          { username: "owner", tokens: [{ token: "token-of-owner", scopes: ["api"] }] },
          { username: "admin", admin: true },
        ],
        groups: [
          {
            path: "acme",
            members: { owner: "owner" },
            labels: [{ name: "A" }, { name: "B" }],
            milestones: [{ title: "m" }],
            projects: Array.from({ length: 12 }, (_, n) => ({ path: `p${n}`, issues })),
          },
        ],
      },
    });
  });
  afterAll(() => filled.dispose());

  async function statementsOf(variables: object): Promise<string[]> {
    filled.statements.length = 0;
    await ask(filled, DOCUMENT, variables);
    return filled.statements.filter((sql) => sql.startsWith("select"));
  }

  it("50: are as many for many rows as for one", async () => {
    await statementsOf({ first: 1 });
    const few = await statementsOf({ first: 1 });
    const many = await statementsOf({ first: 10 });
    expect(many).toHaveLength(few.length);
    expect(few.length).toBeLessThan(14);
  });

  it("are not run for fields that are left out, or for rows that are not there", async () => {
    const all = await statementsOf({ first: 2 });
    const some = await statementsOf({ first: 2, labels: false });
    expect(some).toHaveLength(all.length - 1);
    const none = await statementsOf({ first: 0 });
    expect(none.filter((sql) => sql.includes("issues i"))).toEqual([]);
  });

  it("read no columns that nobody asked for", async () => {
    filled.statements.length = 0;
    await ask(filled, '{project(fullPath:"acme/p1"){issues{nodes{title}}}}');
    const [sql] = filled.statements.filter((one) => one.includes("from issues i"));
    expect(sql).toContain("i.title");
    expect(sql).not.toContain("i.description,");
  });
});

describe("pages", () => {
  let project: string;
  let numbers = 0;
  const titles = async (args: string) => {
    const data = await ask(
      app,
      `{project(fullPath:"${project}"){issues(sort:CREATED_ASC ${args}){count nodes{title} edges{cursor}
        pageInfo{hasNextPage hasPreviousPage startCursor endCursor}}}}`,
    );
    const { nodes, edges, pageInfo, count } = data.project.issues;
    const cursors = edges.map(({ cursor }: { cursor: string }) => cursor);
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([
      cursors[0] ?? null,
      cursors.at(-1) ?? null,
    ]);
    const shown = nodes.map(({ title }: { title: string }) => title).join("");
    return {
      shown,
      cursors,
      count,
      next: pageInfo.hasNextPage,
      previous: pageInfo.hasPreviousPage,
    };
  };
  const add = async (title: string) => {
    const path = `/projects/${encodeURIComponent(project)}/issues`;
    return (await app.call(`POST ${path}`, { as: "owner", json: { title } })).json.iid as number;
  };

  beforeAll(() => {
    project = "acme/team/core";
  });

  it("are cut from both ends", async () => {
    for (const title of "abcdef") numbers = await add(title);
    const all = await titles("");
    expect([all.shown, all.count, all.next, all.previous]).toEqual(["abcdef", 6, false, false]);
    const [a, b, , , e] = all.cursors as [string, string, string, string, string];
    const cases: [args: string, shown: string, next: boolean, previous: boolean][] = [
      ["first:2", "ab", true, false],
      ["last:2", "ef", false, true],
      ["first:6", "abcdef", false, false],
      ["first:0", "", true, false],
      ["last:0", "", false, true],
      [`first:2 after:"${b}"`, "cd", true, true],
      [`after:"${e}"`, "f", false, true],
      [`last:2 before:"${e}"`, "cd", true, true],
      [`before:"${b}"`, "a", false, false],
      [`first:1 after:"${a}" before:"${e}"`, "b", true, true],
      [`last:1 after:"${a}" before:"${e}"`, "d", true, true],
      [`last:9 after:"${e}"`, "f", false, false],
      ["first:2 last:null", "ab", true, false],
    ];
    for (const [args, shown, next, previous] of cases) {
      const page = await titles(args);
      expect([args, page.shown, page.next, page.previous, page.count]).toEqual([
        args,
        shown,
        next,
        previous,
        6,
      ]);
    }
  });

  it("stay where they are while rows come, change and go", async () => {
    const { cursors } = await titles("first:3");
    const after = cursors[2] as string;
    await add("g");
    const path = `/projects/${encodeURIComponent(project)}/issues`;
    await app.call(`DELETE ${path}/${numbers - 3}`, { as: "owner" });
    await app.call(`PUT ${path}/${numbers - 1}`, { as: "owner", json: { title: "E" } });
    expect((await titles(`after:"${after}"`)).shown).toBe("dEfg");
  });

  it.each([
    "first:1 last:1",
    "first:-1",
    "last:-1",
    'after:""',
    'after:"none"',
    `after:"${Buffer.from("[1]").toString("base64url")}"`,
    `after:"${Buffer.from('["a","b"]').toString("base64url")}"`,
    `after:"${Buffer.from("[1.5,1]").toString("base64url")}"`,
    `after:"${Buffer.from("[1e300,1]").toString("base64url")}"`,
    `before:"${Buffer.from("[null,1]").toString("base64url")}"`,
    `before:"${Buffer.from('{"length":2}').toString("base64url")}"`,
  ])("%s is refused", async (args) => {
    const answer = await post(app, `{project(fullPath:"acme/site"){a:issues(${args}){count}}}`);
    expect(answer.json.data).toEqual({ project: { a: null } });
    expect(answer.json.errors[0].path).toEqual(["project", "a"]);
  });

  it("of other lists show nothing that may not be seen", async () => {
    const place = Buffer.from("[0,0]").toString("base64url");
    const { json } = await post(
      app,
      `{project(fullPath:"secret/vault"){issues(after:"${place}"){count}}}`,
      { as: "stranger" },
    );
    expect(json).toEqual({ data: { project: null } });
  });
});

describe("lists in answers", () => {
  it("of more than a hundred rows are cut silently", async () => {
    const issues = Array.from({ length: 101 }, (_, n) => ({
      title: `${n}`,
      author: "owner",
    }));
    const large = await testApp({
      seed: {
        users: [{ username: "owner" }],
        groups: [
          {
            path: "g",
            visibility: "public",
            projects: [{ path: "p", visibility: "public", issues }],
          },
        ],
      },
    });
    try {
      for (const args of ["", "(first:1000)", "(last:1000)", "(first:100)"]) {
        const { json } = await post(
          large,
          `{project(fullPath:"g/p"){issues${args}{count nodes{iid} pageInfo{hasNextPage hasPreviousPage}}}}`,
        );
        const { count, nodes, pageInfo } = json.data.project.issues;
        const isBackward = args.includes("last");
        expect([count, nodes.length, pageInfo]).toEqual([
          101,
          100,
          { hasNextPage: !isBackward, hasPreviousPage: isBackward },
        ]);
      }
    } finally {
      await large.dispose();
    }
  });
});
