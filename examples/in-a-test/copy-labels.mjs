import { Gitlab } from "@gitbeaker/rest";

/** The tool under test: gives a group the labels of another that it lacks, and says how many those were. */
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
