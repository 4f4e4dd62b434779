import { any, type Condition } from "../../store/conditions.ts";
import type { Migration } from "../../store/migrate.ts";
import { casesOf } from "../../store/patterns.ts";
import type { Reader } from "../../store/port.ts";
import { countOf, type IndexStart, idsIfFew, NO_START, startAt } from "./index-start.ts";

/**
 * An index of the texts in some columns of a table, by their trigrams (docs/decisions/0025). It only says
 * where to look: each row it finds must still be compared with `contains`.
 *
 * On SQLite it is a full-text table; changed rows wait in a table beside it until there are enough of them. Triggers do
 * both, so it is right after every kind of write. On PostgreSQL it is an index of pg_trgm.
 */
export interface SearchIndex {
  /** Its name, which begins the names of its tables and triggers. */
  readonly name: string;
  readonly table: string;
  /** The searched columns. */
  readonly columns: readonly string[];
  /** The columns with what a row always belongs to, if searches may be within it: each row has one of them. */
  readonly owners?: readonly OwnerColumn[];
}

type OwnerColumn = "project_id" | "namespace_id";

/** What rows belong to that a search is limited to. */
interface SearchOwner {
  readonly column: OwnerColumn;
  readonly id: number;
}

/** Rows that wait on SQLite: each commit of its own would cost the full-text table as much as all of these together. */
const WAITING = 128;
/** Maximum trigrams a search looks up, spread over its text: more would take longer and hardly leave out any row. */
const MAX_TRIGRAMS = 6;
/** Maximum characters that PostgreSQL looks up: the cost of `like` grows with text times pattern. */
const MAX_PIECE = 12;
/** On PostgreSQL, how many of the newest rows show whether a text is common, and how many of them must then have it. */
const SAMPLE = 1000;
const COMMON = 20;

/** How SQLite merges parts of an index: not after deletions, which would take half a second at once. */
const MERGES: Readonly<Record<string, number>> = { automerge: 8, deletemerge: 0 };

/**
 * The migration that creates an index and fills it with the rows there are.
 *
 * @param merges settings of SQLite's full-text tables for merging parts of the index
 */
export function searchMigration(id: string, index: SearchIndex, merges = MERGES): Migration {
  return { id, sql: { sqlite: sqliteSchema(index, merges), postgres: postgresSchema(index) } };
}

function sqliteSchema(
  { name, table, columns, owners }: SearchIndex,
  merges: typeof MERGES,
): string {
  const wait = (row: "old" | "new") =>
    `begin insert or ignore into ${name}_waiting (id) values (${row}.id); end`;
  const changed = columns.map((column) => `new.${column} is not old.${column}`).join(" or ");
  const select = `select t.id, ${owners ? ownerSql(owners) : "''"}, ${textOf("t", columns)} from`;
  const waiting = `select id from ${name}_waiting`;
  return `
create virtual table ${name} using fts5 (owner, text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
create virtual table ${name}_terms using fts5vocab ('${name}', 'instance');
${Object.entries(merges)
  .map(([setting, value]) => `insert into ${name} (${name}, rank) values ('${setting}', ${value});`)
  .join("\n")}
create table ${name}_waiting (id integer primary key);
insert into ${name} (rowid, owner, text) ${select} ${table} t;
create trigger ${name}_added after insert on ${table} ${wait("new")};
create trigger ${name}_changed after update of ${columns.join(", ")} on ${table} when ${changed} ${wait("new")};
create trigger ${name}_removed after delete on ${table} ${wait("old")};
create trigger ${name}_filled after insert on ${name}_waiting when (select count(*) from ${name}_waiting) >= ${WAITING} begin delete from ${name} where rowid in (${waiting}); insert into ${name} (rowid, owner, text) ${select} ${name}_waiting w join ${table} t on t.id = w.id; delete from ${name}_waiting; end;
`;
}

/**
 * PostgreSQL folds by its rules for all languages if it was built with them. Otherwise letters beyond ASCII are left out
 * of the index, and a search looks the others up. Without pg_trgm there is no index.
 */
function postgresSchema({ name, table, columns }: SearchIndex): string {
  const body = (sql: string) =>
    `create or replace function search_fold(text) returns text language sql immutable strict parallel safe as 'select ${sql}'`;
  const folded = body(`lower($1 collate "und-x-icu") collate "C"`);
  const reduced = body(`regexp_replace(lower($1 collate "C"), ''[^\\x01-\\x7f]+'', '''', ''g'')`);
  const quoted = (sql: string) => `'${sql.replaceAll("'", "''")}'`;
  return `
do $do$ begin if exists (select 1 from pg_collation where collname = 'und-x-icu') then execute ${quoted(folded)}; else execute ${quoted(reduced)}; end if; end $do$;
do $do$ begin create extension if not exists pg_trgm; execute (select format('create index ${name} on ${table} using gin (${postgresText("", columns).replaceAll("'", "''")} %I.gin_trgm_ops)', n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'); exception when insufficient_privilege or undefined_file or feature_not_supported then raise notice 'no pg_trgm'; end $do$;
`;
}

/**
 * A query for what is wrong with an index on SQLite, as texts: rows that it lacks or still has, and those whose text had
 * another length when it was read.
 */
export function searchProblems({ name, table, columns, owners }: SearchIndex): string {
  const waiting = `select id from ${name}_waiting`;
  const length = `length(${textOf("t", columns)}) - 2`;
  const start = owners ? "01" : "00";
  // The index keeps the number of trigrams of each column as SQLite's variable-length integers.
  const size = `case when n < 128 then printf('${start}%02X', n)
    when n < 16384 then printf('${start}%02X%02X', 128 | (n >> 7), n & 127)
    else printf('${start}%02X%02X%02X', 128 | (n >> 14), 128 | ((n >> 7) & 127), n & 127) end`;
  return `select 'row ' || id || ' is not indexed as it is' from (select t.id, ${length} as n from ${table} t
      where t.id not in (${waiting})) as rows left join ${name}_docsize d using (id)
      where d.sz is null or hex(d.sz) <> ${size}
    union all
    select 'row ' || id || ' is indexed, but there is none' from ${name}_docsize
      where id not in (select id from ${table}) and id not in (${waiting})`;
}

/** All searched texts of a row. Each ends with two lines, so that its last two characters begin a trigram, too. */
function textOf(alias: string, columns: readonly string[]): string {
  return columns.map((column) => `coalesce(${alias}.${column}, '') || char(10, 10)`).join(" || ");
}

function postgresText(alias: string, columns: readonly string[]): string {
  const texts = columns.map((column) => `coalesce(${alias}${column}, '')`);
  return `(search_fold(${texts.join(" || chr(10) || ")}))`;
}

/** An owner is found by three characters of private use, which are one trigram; each kind has a plane of its own. */
const OWNER_BASE = 65_000;
const FIRST_OWNER = { project_id: 0xf0000, namespace_id: 0x100000 } as const;
const OWNER_PLACES = [OWNER_BASE ** 2, OWNER_BASE, 1];

function ownerSql(columns: readonly OwnerColumn[]): string {
  const terms = columns.map((column) => {
    const digits = OWNER_PLACES.map(
      (place) => `${FIRST_OWNER[column]} + t.${column} / ${place} % ${OWNER_BASE}`,
    );
    return { column, term: `char(${digits.join(", ")})` };
  });
  if (terms.length === 1) return (terms[0] as (typeof terms)[0]).term;
  const cases = terms.map(({ column, term }) => `when t.${column} is not null then ${term}`);
  return `case ${cases.join(" ")} end`;
}

function ownerTerm({ column, id }: SearchOwner): string {
  return String.fromCodePoint(
    ...OWNER_PLACES.map((place) => FIRST_OWNER[column] + (Math.floor(id / place) % OWNER_BASE)),
  );
}

/** What a search is limited to, and what else it finds. */
interface SearchScope {
  /** All rows belong to one of these. */
  owners?: readonly SearchOwner[] | undefined;
  /** A query for the ids of further rows that a search may find. */
  also?: Condition | undefined;
}

/**
 * Looks a text up.
 *
 * @param alias of the searched table in the query
 * @param text what the rows contain, by `contains`, if there is a search
 */
export async function searchStart(
  db: Reader,
  index: SearchIndex,
  alias: string,
  text: string | undefined,
  scope: SearchScope = {},
): Promise<IndexStart> {
  const pieces = piecesOf(text ?? "");
  if (pieces.length === 0 || (await haveFewRows(db, index, scope.owners))) return NO_START;
  return db.dialect === "sqlite"
    ? ofSqlite(db, index, alias, pieces, scope)
    : ofPostgres(db, index, alias, pieces, scope);
}

/** Rows that are compared one by one: looking them up would not be faster. */
const FEW_ROWS = 1000;

async function haveFewRows(
  db: Reader,
  { table }: SearchIndex,
  owners: SearchScope["owners"],
): Promise<boolean> {
  if (!owners) return false;
  const { sql, values } = ownedBy(owners);
  const found = `(select 1 from ${table} where ${sql} limit ${FEW_ROWS + 1}) as found`;
  return (await countOf(db, found, values)) <= FEW_ROWS;
}

function ownedBy(owners: readonly SearchOwner[]): Condition {
  return any(owners.map(({ column, id }) => ({ sql: `${column} = ?`, values: [id] })));
}

async function ofSqlite(
  db: Reader,
  { name }: SearchIndex,
  alias: string,
  pieces: readonly Piece[],
  { owners, also }: SearchScope,
): Promise<IndexStart> {
  const trigrams = spread(pieces.flatMap(trigramsOf));
  const within = owners
    ? [`(${owners.map((owner) => quoted(ownerTerm(owner))).join(" OR ")})`]
    : [];
  const short = longest(pieces).join("");
  const found: Condition =
    trigrams.length > 0
      ? {
          sql: `select rowid as id from ${name} where ${name} match ?`,
          values: [[...within, ...trigrams.map(quoted)].join(" AND ")],
        }
      : {
          sql: `select distinct doc as id from ${name}_terms where term >= ? and term <= ?`,
          values: [short, `${short}${LAST.repeat(3)}`],
        };
  // One query for both: rows that wait may move into the index before the next one.
  const waiting = `select id from ${name}_waiting`;
  const ids = withFurther(
    {
      sql: `select id from (${found.sql}) where id not in (${waiting}) union all ${waiting}`,
      values: found.values,
    },
    also,
  );
  const few = await idsIfFew(db, ids);
  // Such a search knows no owner: it would read all the rows of others.
  if (!few && trigrams.length === 0 && owners) return NO_START;
  return startAt(alias, few ?? ids, few !== undefined);
}

async function ofPostgres(
  db: Reader,
  { table, columns }: SearchIndex,
  alias: string,
  pieces: readonly Piece[],
  { owners, also }: SearchScope,
): Promise<IndexStart> {
  const piece = longest(pieces).slice(0, MAX_PIECE);
  if (piece.length < 3) return NO_START;
  const pattern = piece.join("").replace(/[\\%_]/g, "\\$&");
  const like = (of: string): Condition => ({
    sql: `${postgresText(of, columns)} like '%' || search_fold(cast(? as text)) || '%'`,
    values: [pattern],
  });
  const own = owners ? ownedBy(owners) : { sql: "1 = 1", values: [] };
  const condition = like("");
  const order = owners ? "created_at desc, id desc" : "id desc";
  const newest = `(select ${columns.join(", ")} from ${table} where ${own.sql} order by ${order} limit ${SAMPLE})`;
  const found = {
    sql: `select id from ${table} where ${condition.sql} and ${own.sql}`,
    values: [...condition.values, ...own.values],
  };
  const isCommon =
    (await countOf(db, `${newest} as newest where ${condition.sql}`, [
      ...own.values,
      ...condition.values,
    ])) >= COMMON;
  const few = isCommon ? undefined : await idsIfFew(db, withFurther(found, also));
  if (few) return startAt(alias, few, true);
  return also ? NO_START : { ...NO_START, condition: like(`${alias}.`), ids: found };
}

/** A query for ids and, with others, for those of a further query, too. */
function withFurther({ sql, values }: Condition, also: Condition | undefined): Condition {
  if (!also) return { sql, values };
  return { sql: `${sql} union ${also.sql}`, values: [...values, ...also.values] };
}

/** The last character there is: no text sorts behind a prefix with three of them. */
const LAST = "\u{10ffff}";

/** Letters that follow each other. */
type Piece = readonly string[];

/**
 * The parts of a text, in small letters, that an index holds in the same form, whatever their case in a row: between
 * letters whose cases the engines may not know.
 */
function piecesOf(text: string): Piece[] {
  const pieces: string[][] = [[]];
  for (const letter of text) {
    const known = foldedAlike(letter);
    if (known === undefined) pieces.push([]);
    else pieces.at(-1)?.push(known);
  }
  return pieces.filter((piece) => piece.length > 0);
}

/** Small form of a letter without cases, of one of ASCII, or of a pair that both engines know. */
function foldedAlike(letter: string): string | undefined {
  const lower = letter.toLowerCase();
  if (letter <= "\x7f" || lower === letter.toUpperCase()) return lower;
  const pair = casesOf(letter);
  const upper = pair?.upper.codePointAt(0) ?? 0;
  // SQLite's tables are of Unicode 6. The small sigma depends on its place in the word.
  const isKnown =
    (upper >= 0x80 && upper < 0x528 && upper !== 0x37f && upper !== 0x3a3) ||
    (upper >= 0x1e00 && upper < 0x2000);
  return isKnown ? pair?.lower : undefined;
}

function trigramsOf(piece: Piece): string[] {
  return piece.slice(2).map((_, at) => piece.slice(at, at + 3).join(""));
}

/** At most {@link MAX_TRIGRAMS} of them, at even distances. */
function spread(trigrams: readonly string[]): string[] {
  const different = [...new Set(trigrams)];
  const step = Math.max(1, (different.length - 1) / (MAX_TRIGRAMS - 1));
  const count = Math.min(different.length, MAX_TRIGRAMS);
  return Array.from({ length: count }, (_, at) => different[Math.round(at * step)] as string);
}

function longest(pieces: readonly Piece[]): Piece {
  return pieces.reduce((one, other) => (other.length > one.length ? other : one));
}

/** As a string of SQLite's full-text queries. */
function quoted(term: string): string {
  return `"${term.replaceAll('"', '""')}"`;
}
