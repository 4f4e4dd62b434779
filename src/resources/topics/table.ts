import type { Migration } from "../../store/migrate.ts";

const TABLES = `
create table topics (
  id $id,
  name $text not null,
  title $text not null,
  description $text,
  created_at $int not null,
  updated_at $int not null
);
create unique index topics_by_name on topics (lower(name));
create table project_topics (
  project_id $int not null references projects (id) on delete cascade,
  topic_id $int not null references topics (id) on delete cascade,
  position $int not null,
  primary key (project_id, topic_id)
);
create index project_topics_by_topic on project_topics (topic_id, project_id);
create table topic_counts (
  topic_id $int primary key references topics (id) on delete cascade,
  count $int not null
);
create index topic_counts_by_count on topic_counts (count desc, topic_id);
`;

/** Counts projects one by one. A project that is deleted loses its topics first, while it is known who sees it. */
const SQLITE_COUNTS = (["old", "new"] as const)
  .map((row) => {
    const [name, event, step] =
      row === "new" ? ["added", "insert", "+ 1"] : ["removed", "delete", "- 1"];
    return `create trigger project_topics_${name} after ${event} on project_topics begin update topic_counts set count = count ${step} where topic_id = ${row}.topic_id and exists (select 1 from projects p where p.id = ${row}.project_id and p.visibility = 20); end;\n`;
  })
  .join("")
  .concat(`create trigger topics_added after insert on topics begin insert into topic_counts (topic_id, count) values (new.id, 0); end;
create trigger project_topics_shown after update of visibility on projects when (new.visibility = 20) <> (old.visibility = 20) begin update topic_counts set count = count + case when new.visibility = 20 then 1 else -1 end where topic_id in (select topic_id from project_topics where project_id = new.id); end;
create trigger project_topics_deleted before delete on projects begin delete from project_topics where project_id = old.id; end;
`);

/** The same, but once per statement: a row that one transaction updates often takes longer each time. */
const POSTGRES_COUNTS = (["old", "new"] as const)
  .map((row) => {
    const [name, event, sign] =
      row === "new" ? ["added", "insert", "+"] : ["removed", "delete", "-"];
    return `create function project_topics_${name}() returns trigger language plpgsql as $do$ begin update topic_counts c set count = c.count ${sign} s.counted from (select x.topic_id, count(*) as counted from changed x join projects p on p.id = x.project_id where p.visibility = 20 group by 1) as s where c.topic_id = s.topic_id; return null; end $do$;
create trigger project_topics_${name} after ${event} on project_topics referencing ${row} table as changed for each statement execute function project_topics_${name}();
`;
  })
  .join("")
  .concat(`create function topics_added() returns trigger language plpgsql as $do$ begin insert into topic_counts (topic_id, count) values (new.id, 0); return null; end $do$;
create trigger topics_added after insert on topics for each row execute function topics_added();
create function project_topics_shown() returns trigger language plpgsql as $do$ begin update topic_counts set count = count + case when new.visibility = 20 then 1 else -1 end where topic_id in (select topic_id from project_topics where project_id = new.id); return null; end $do$;
create trigger project_topics_shown after update of visibility on projects for each row when ((new.visibility = 20) <> (old.visibility = 20)) execute function project_topics_shown();
create function project_topics_deleted() returns trigger language plpgsql as $do$ begin delete from project_topics where project_id = old.id; return old; end $do$;
create trigger project_topics_deleted before delete on projects for each row execute function project_topics_deleted();
`);

/** Fills the tables from the names that projects had. @param given what a project `p` is joined with: `j.value`, `j.key` */
const filled = (given: string, name: string) => `
insert into topics (name, title, created_at, updated_at)
  select min(name), min(name), min(created_at), min(created_at)
  from (select ${name} as name, p.created_at from projects p ${given} where p.topics <> '[]') as x
  group by lower(name) order by min(created_at);
insert into project_topics (project_id, topic_id, position)
  select x.id, t.id, min(x.place) from
    (select p.id, j.key as place, ${name} as name from projects p ${given} where p.topics <> '[]') as x
  join topics t on lower(t.name) = lower(x.name) group by x.id, t.id;
alter table projects drop column topics;
`;

/**
 * Topics, and which projects have them in which order. `topic_counts` has how many public projects have a topic; triggers
 * keep it right after every kind of write.
 */
export const migrations: Migration[] = [
  {
    id: "20261125-01-topics",
    sql: {
      sqlite: `${TABLES}${SQLITE_COUNTS}${filled("join json_each(p.topics) j", "substr(replace(j.value, char(10), ' '), 1, 255)")}`,
      postgres: `${TABLES}${POSTGRES_COUNTS}${filled(
        "cross join lateral json_array_elements_text(p.topics::json) with ordinality as j (value, key)",
        `substr(replace(j.value, chr(10), ' '), 1, 255) collate "C"`,
      )}`,
    },
  },
];
