import { Gitlab } from "@gitbeaker/rest";

/** The tool under test: copies the labels one group has and another lacks, and returns their number. */
export async function copyLabels({ host, token, from, to }) {
  const gitlab = new Gitlab({ host, token });
  const wanted = await gitlab.GroupLabels.all(from);
  const present = new Set((await gitlab.GroupLabels.all(to)).map((label) => label.name));
  const missing = wanted.filter((label) => !present.has(label.name));
  for (const { name, color, description } of missing) {
    await gitlab.GroupLabels.create(to, name, color, { description });
  }
  return missing.length;
}
