import { timingSafeEqual } from "node:crypto";
import { type Allowance, attempt, requireLeft } from "../auth/throttle.ts";
import { digestOf } from "../auth/token-secrets.ts";
import { networkOf } from "../core/http/network.ts";
import type { PrepareContext, RequestInfo } from "../core/resource.ts";
import { type Application, findByUid } from "./applications.ts";
import { problem, refusal } from "./errors.ts";
import { parameter } from "./rules.ts";

const WINDOW = 10 * 60_000;
const WRONG_SECRETS = 20;
/** Compared with if there is no secret. Nothing hashes to it. */
const NO_DIGEST = "-".repeat(64);

/** Credentials in the body; the alternative is `Authorization: Basic`. */
export const clientInput = {
  client_id: parameter,
  client_secret: parameter,
};

interface ClientInput {
  client_id?: string | undefined;
  client_secret?: string | undefined;
}

/**
 * Finds the calling application and checks its secret, before the transaction opens. Public ones only give their id.
 * Wrong secrets are counted per application and address.
 *
 * @returns `undefined` if the request names none
 * @throws ApiError 401 `invalid_client`, 400 if it is named twice, 429 after too many wrong secrets
 */
export async function authenticateClient(
  { store, request, now }: PrepareContext,
  input: ClientInput,
): Promise<Application | undefined> {
  const credentials = credentialsOf(request, input);
  if (!credentials) return undefined;
  const found = await findByUid(store, credentials.id);
  // Unknown names are not stored: their number has no bound.
  const key = `secret of ${found?.uid ?? "unknown applications"} from ${networkOf(request.ip)}`;
  const guesses: Allowance = { key, name: "client_secrets", max: WRONG_SECRETS, window: WINDOW };
  const isCounted = request.ip !== "";
  if (isCounted) await requireLeft(store, guesses, now);
  if (found && isAuthentic(found, credentials.secret)) return found;
  if (isCounted) await attempt(store, [guesses], now);
  throw refusal(problem("invalid_client"));
}

function isAuthentic({ confidential, secret_digest }: Application, secret: string): boolean {
  if (confidential === 0) return secret === "";
  const expected = Buffer.from(secret_digest ?? NO_DIGEST);
  return timingSafeEqual(Buffer.from(digestOf(secret)), expected);
}

function credentialsOf(
  request: RequestInfo,
  { client_id = "", client_secret = "" }: ClientInput,
): { id: string; secret: string } | undefined {
  const authorization = request.header("authorization");
  if (authorization === undefined) {
    return client_id === "" && client_secret === ""
      ? undefined
      : { id: client_id, secret: client_secret };
  }
  const basic = readBasic(authorization);
  if (client_secret !== "" || (client_id !== "" && client_id !== basic.id)) {
    throw refusal(problem("invalid_request", "The client authenticates in more than one way."));
  }
  return basic;
}

/** Name and secret are form-encoded before they are joined (RFC 6749 §2.3.1). */
function readBasic(authorization: string): { id: string; secret: string } {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization)?.[1];
  const pair = Buffer.from(encoded ?? "", "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon < 1) throw refusal(problem("invalid_client"));
  try {
    const [id, secret] = [pair.slice(0, colon), pair.slice(colon + 1)].map((part) =>
      decodeURIComponent(part.replaceAll("+", " ")),
    );
    return { id: id as string, secret: secret as string };
  } catch {
    throw refusal(problem("invalid_client"));
  }
}
