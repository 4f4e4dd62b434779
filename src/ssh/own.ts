import { PUSHING, Refusal } from "../auth/ssh-keys.ts";
import * as twoFactor from "../auth/two-factor.ts";
import { ApiError } from "../core/errors.ts";
import type { Respond } from "../core/http/incoming.ts";
import * as param from "../core/input.ts";
import { RawReply, routes } from "../core/resource.ts";
import { SCOPES, type Scope } from "../core/scopes.ts";
import { DAY, dayOf } from "../core/time.ts";
import { createToken } from "../resources/tokens/changes.ts";
import { MOST_DAYS } from "../resources/tokens/rules.ts";
import { type Asking, ask, textOf } from "./ask.ts";
import type { Pipe } from "./channels.ts";

/** What users make for themselves by a command, and what deploy keys are told that ask for it. */
export const OWN = {
  personal_access_token: "Deploy keys cannot be used to create personal access tokens",
  "2fa_recovery_codes": "Deploy keys cannot be used to retrieve recovery codes",
} as const;
export type Own = keyof typeof OWN;

/** Days for which a token works of which no number is said, as in gitlab-shell. */
const DAYS = 30;
const USAGE = "Usage: personal_access_token <name> <scope1[,scope2,...]> [ttl_days]";
const refusal = (message: string) => new ApiError(422, { message });

/** The scopes that somebody's tokens can have. */
const scopesFor = ({ admin }: { readonly admin: boolean }): readonly Scope[] =>
  admin ? SCOPES : SCOPES.filter((scope) => !ADMINISTRATORS.has(scope));
const ADMINISTRATORS: ReadonlySet<Scope> = new Set(["sudo", "admin_mode"]);

const { post } = routes();
const text = { answersWith: "text/plain", scopes: PUSHING } as const;

/** The requests that these commands become. */
export const ownCommands = [
  post("/personal_access_token", {
    ...text,
    summary: "Create a personal access token over SSH",
    input: {
      name: param.text(),
      scopes: param.commaSeparated(),
      days: param.optional(param.integer({ min: 0 })),
    },
    handle: async (context) => {
      const { caller, input, now } = context;
      const known = scopesFor(caller);
      const unknown = input.scopes.find((scope) => !(known as readonly string[]).includes(scope));
      if (unknown !== undefined) {
        const valid = known.map((scope) => `"${scope}"`).join(", ");
        throw refusal(`Invalid scope: '${unknown}'. Valid scopes are: [${valid}]`);
      }
      // A number of days is that of whole ones.
      const days = input.days === undefined ? DAYS : input.days + 1;
      if (days > MOST_DAYS) {
        throw refusal(`Expiration date must be before ${dayOf(now + MOST_DAYS * DAY)}`);
      }
      const expires_at = dayOf(now + days * DAY);
      const { name, scopes } = input;
      const values = { user_id: caller.id, name, scopes, impersonation: false, expires_at };
      const { secret } = await createToken(context, values);
      const told = `Token:   ${secret}\nScopes:  ${scopes.join(",")}\nExpires: ${expires_at}\n`;
      return new RawReply(200, { "content-type": "text/plain" }, told);
    },
  }),
  post("/2fa_recovery_codes", {
    ...text,
    summary: "Create new recovery codes over SSH",
    handle: async ({ db, caller }) => {
      if (!(await twoFactor.isOn(db, caller.id))) {
        throw refusal("Two-factor authentication is not enabled for this user");
      }
      const codes = await twoFactor.renewRecoveryCodes(db, caller.id);
      return new RawReply(200, { "content-type": "text/plain" }, codes.join("\n"));
    },
  }),
];

/** A command, the words after it, and who sends it. */
interface OwnCommand extends Asking {
  readonly name: Own;
  readonly args: readonly string[];
}

/**
 * Makes what a user wants for themselves.
 *
 * @throws Refusal
 * @throws ClientGone
 */
export async function performOwn(respond: Respond, command: OwnCommand, pipe: Pipe): Promise<void> {
  if (command.name === "2fa_recovery_codes") return renewCodes(respond, command, pipe);
  const [name = "", scopes = "", days, ...others] = command.args;
  if (command.args.length < 2 || others.length > 0) throw new Refusal(USAGE);
  if (days !== undefined && !/^\d{1,9}$/.test(days)) {
    throw new Refusal(`Invalid value for days_ttl: '${days}'`);
  }
  if (name === "") throw new Refusal("No token name specified");
  if (scopes === "") throw new Refusal("No token scopes specified");
  const query = new URLSearchParams({ name, scopes, ...(days !== undefined && { days }) });
  const path = "/personal_access_token";
  const made = await ask(respond, command, { path, method: "POST", query: query.toString() });
  await pipe.write(await textOf(made));
}

const QUESTION = `Are you sure you want to generate new two-factor recovery codes?
Any existing recovery codes you saved will be invalidated. (yes/no)
`;
const KEPT = `
New recovery codes have *not* been generated. Existing codes will remain valid.
`;
/** What gitlab-shell says around the codes: scripts look for it. */
const toldWith = (codes: string) => `
Your two-factor authentication recovery codes are:

${codes}

During sign in, use one of the codes above when prompted for
your two-factor code. Then, visit your Profile Settings and add
a new device so you do not lose access to your account again.
`;

/** Asks whether new codes are wanted, and shows them. What is refused is told as an answer, as by gitlab-shell. */
async function renewCodes(respond: Respond, command: OwnCommand, pipe: Pipe): Promise<void> {
  await pipe.write(QUESTION);
  if ((await answerOf(pipe)) !== "yes") return pipe.write(KEPT);
  try {
    const made = await ask(respond, command, { path: "/2fa_recovery_codes", method: "POST" });
    await pipe.write(toldWith(await textOf(made)));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    await pipe.write(
      `\nAn error occurred while trying to generate new recovery codes.\n${error.message}\n`,
    );
  }
}

/** Bytes of an answer that are read. */
const MOST_ANSWERED = 1024;

async function answerOf(pipe: Pipe): Promise<string> {
  let answer = "";
  for await (const part of pipe) {
    answer += Buffer.from(part).toString("latin1");
    if (answer.includes("\n") || answer.length >= MOST_ANSWERED) break;
  }
  return (answer.split("\n", 1)[0] ?? "").trim();
}
