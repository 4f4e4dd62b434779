import { createHash, createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";

/** How the next id_token is made; by default as it should be. */
export interface Making {
  /** Claims in the place of the right ones; `undefined` leaves one out. */
  claims?: Record<string, unknown>;
  /** What signs it: its own key, another one, nothing, or its public key as a shared secret. */
  by?: "own key" | "other key" | "nothing" | "public key";
  /** Answered in the place of tokens. */
  error?: { status: number; body: string };
}

/** A provider of OpenID Connect that says and signs what a test wants. */
export interface TestProvider {
  readonly issuer: string;
  /** What its next answer to a code is made of. */
  making: Making;
  /** What userinfo says besides; of the person of the last id_token, unless it says another `sub`. */
  userinfo: Record<string, unknown>;
  /** The forms that were sent for tokens. */
  readonly redeemed: URLSearchParams[];
  /** How often each of its addresses was asked. */
  readonly asked: Map<string, number>;
  /** Metadata in the place of the right one. */
  metadata: Record<string, unknown>;
  /** The code of a browser that was sent to it, and where that comes back to. */
  signIn(location: string | null, making?: Making): string;
  close(): Promise<void>;
}

/** Starts a provider that is asked by the client `pm`, with the secret `s3cret`. */
export async function startProvider(): Promise<TestProvider> {
  const keys = await generateKeyPair("ES256", { extractable: true });
  const others = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: "k1", use: "sig", alg: "ES256" };
  const pem = await exportSPKI(keys.publicKey);
  const codes = new Map<string, { nonce: string; challenge: string | null }>();
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  const tokenOf = async (nonce: string): Promise<string> => {
    const { claims = {}, by = "own key" } = provider.making;
    const now = Math.floor(Date.now() / 1000);
    const all = {
      ...{ iss: provider.issuer, aud: "pm", sub: "ada-1", nonce, iat: now, exp: now + 300 },
      ...claims,
    };
    if (by === "nothing") return `${base64({ alg: "none" })}.${base64(all)}.`;
    if (by === "public key") {
      const signed = `${base64({ alg: "HS256", kid: "k1" })}.${base64(all)}`;
      return `${signed}.${createHmac("sha256", pem).update(signed).digest("base64url")}`;
    }
    const token = new SignJWT(JSON.parse(JSON.stringify(all)));
    token.setProtectedHeader({ alg: "ES256", kid: "k1" });
    return token.sign(by === "own key" ? keys.privateKey : others.privateKey);
  };

  const answers: Record<string, (body: string) => unknown> = {
    "/.well-known/openid-configuration": () => ({
      issuer: provider.issuer,
      authorization_endpoint: `${provider.issuer}/authorize`,
      token_endpoint: `${provider.issuer}/token`,
      userinfo_endpoint: `${provider.issuer}/userinfo`,
      jwks_uri: `${provider.issuer}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256", "HS256", "none"],
      ...provider.metadata,
    }),
    "/keys": () => ({ keys: [jwk] }),
    "/userinfo": () => ({ sub: provider.making.claims?.["sub"] ?? "ada-1", ...provider.userinfo }),
    "/token": async (body) => {
      const form = new URLSearchParams(body);
      provider.redeemed.push(form);
      const code = form.get("code") ?? "";
      const known = codes.get(code);
      codes.delete(code);
      const verifier = createHash("sha256").update(form.get("code_verifier") ?? "");
      if (!known || (known.challenge && known.challenge !== verifier.digest("base64url"))) {
        return { status: 400, body: '{"error":"invalid_grant"}' };
      }
      if (provider.making.error) return provider.making.error;
      const id_token = await tokenOf(known.nonce);
      return { access_token: "at", token_type: "bearer", expires_in: 60, id_token };
    },
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const path = (request.url ?? "").split("?")[0] as string;
    provider.asked.set(path, (provider.asked.get(path) ?? 0) + 1);
    const answer = (await answers[path]?.(body)) as { status?: number; body?: string } | undefined;
    response.setHeader("content-type", "application/json");
    response.statusCode = answer ? (answer.body ? (answer.status ?? 200) : 200) : 404;
    response.end(answer?.body ?? JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  let count = 0;
  const provider: TestProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    making: {},
    userinfo: {},
    redeemed: [],
    asked: new Map(),
    metadata: {},
    signIn: (location, making = {}) => {
      const { searchParams } = new URL(location ?? "");
      count += 1;
      const code = `code-${count}`;
      const challenge = searchParams.get("code_challenge");
      codes.set(code, { nonce: searchParams.get("nonce") ?? "", challenge });
      provider.making = making;
      const back = new URL(searchParams.get("redirect_uri") ?? "");
      back.searchParams.set("code", code);
      back.searchParams.set("state", searchParams.get("state") ?? "");
      return back.pathname + back.search;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return provider;
}
