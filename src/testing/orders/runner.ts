import { OptionError } from "../../core/options.ts";
import { fateOption, pipelineEndOption, runnerOption } from "../runner.ts";
import { order } from "./order.ts";

export const runnerOrders = [
  order({
    method: "PUT",
    path: "jobs/:id",
    summary:
      "Ends a job that is pending or runs, or lets it run (`status`: `success`, `failed`, `canceled`, `running`), with text for its log (`trace`), `failure_reason` and `exit_code`; what follows is as from a real runner",
    body: fateOption,
    run: ({ world, params, body }) => world.runner.endJob(idOf("jobs", params), body),
  }),
  order({
    method: "PUT",
    path: "pipelines/:id",
    summary:
      "Ends all jobs of a pipeline that do not wait for a person (`status`: `success`, `failed`, `canceled`)",
    body: pipelineEndOption,
    run: ({ world, params, body }) =>
      world.runner.endPipeline(idOf("pipelines", params), body.status),
  }),
  order({
    method: "GET",
    path: "runner",
    summary: "Returns what the scripted runner does; `null` if there is none",
    run: ({ world }) => world.runner.script,
  }),
  order({
    method: "PUT",
    path: "runner",
    summary:
      "Ends jobs as soon as they are pending, oldest first: those in `jobs` by their names, in which `*` stands for any text, all others by `default`; each as `PUT jobs/:id` has it, as a status, or as a list with an entry for each attempt",
    body: runnerOption,
    run: async ({ world, body }) => {
      await world.runner.run(body);
      return world.runner.script;
    },
  }),
  order({
    method: "DELETE",
    path: "runner",
    summary: "Lets jobs wait again",
    status: 204,
    run: ({ world }) => world.runner.stop(),
  }),
];

function idOf(what: string, { id = "" }: Readonly<Record<string, string>>): number {
  if (/^\d{1,15}$/.test(id)) return Number(id);
  throw new OptionError(`PUT /-/test/${what}/:id`, "id", "must be a whole number");
}
