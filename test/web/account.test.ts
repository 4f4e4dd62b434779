import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { givePassword, PASSWORD as password, type TestApp, testApp } from "../helpers.ts";
import { gpgKeyOf } from "../pgp.ts";
import { Visitor } from "../visitor.ts";
import { fieldsOf, HOSTILE, RUNS } from "./_forms.ts";

const at = Date.parse("2026-11-21T12:00:00Z");

let app: TestApp;
let admin: Visitor;
let owner: Visitor;
beforeAll(async () => {
  app = await testApp({ now: () => at });
  await givePassword(app, "admin", "owner");
  admin = new Visitor(app);
  await admin.signIn("admin", password);
  owner = new Visitor(app);
  await owner.signIn("owner@example.com", password);
  for (const visitor of [admin, owner]) await visitor.get("/-/profile");
});
afterAll(() => app.dispose());

const errorsIn = (page: string) =>
  [...page.matchAll(/class="error" id="(.*?)-error">(.*?)</g)].map(([, name, text]) => [
    name,
    text,
  ]);
const audited = async () =>
  (
    await app.store.all<{ action: string; author_name: string; target: string }>(
      "select action, author_name, target from audit_events order by id desc limit 1",
    )
  )[0];

describe("access tokens", () => {
  const PATH = "/-/user_settings/personal_access_tokens";
  const good = { name: "laptop", expires_at: "2026-12-01", "scopes[]": ["read_user", "read_api"] };

  it("are shown once, work, and are revoked", async () => {
    const { page } = await owner.get(PATH);
    expect(page).toContain('value="2026-12-21"');
    const made = await owner.post(PATH, good);
    expect(made.status).toBe(200);
    const token = /pmat-[0-9a-f]{40}/.exec(made.page)?.[0] as string;
    expect(await audited()).toEqual({
      action: "token made",
      author_name: "owner",
      target: "laptop",
    });
    const call = (request: string) => app.call(request, { headers: { "private-token": token } });
    expect((await call("GET /user")).json.username).toBe("owner");
    expect((await call("POST /groups?name=x&path=x")).status).toBe(403);
    const list = await owner.get(PATH);
    expect(list.page).not.toContain(token);
    expect(list.page).toContain("read_user, read_api");
    expect(list.page).toContain('expires <time datetime="2026-12-01">1 Dec 2026</time>');
    await expect
      .poll(async () => (await owner.get(PATH)).page, { timeout: 10_000 })
      .toMatch(
        /<h3>laptop<\/h3>\s*<p>[^/]*<br>\ncreated [^\n]* · last used <time datetime="2026-11-21T12/,
      );
    const revoke = /action="(\/[^"]+\/revoke)"/.exec(list.page)?.[1] as string;

    await admin.get(PATH);
    expect((await admin.post(revoke)).status).toBe(404);
    expect((await call("GET /user")).status).toBe(200);
    expect((await owner.post(revoke)).headers.get("location")).toBe(PATH);
    expect((await call("GET /user")).status).toBe(401);
    expect(await audited()).toEqual({
      action: "token revoked",
      author_name: "owner",
      target: "laptop",
    });
  });

  it("have a feed token beside them, which is shown again until it is reset", async () => {
    const feed = "http://pm.test/dashboard/projects.atom";
    const tokenIn = (page: string) => /glft-[0-9a-f]{40}/.exec(page)?.[0] as string;
    const reads = async (token: string) =>
      (await app.call(`GET ${feed}?feed_token=${token}`)).status;
    expect((await owner.get(PATH)).page).toContain("Create feed token");
    const made = await owner.post("/-/profile/reset_feed_token");
    expect([made.status, made.headers.get("location")]).toEqual([303, PATH]);
    expect(await audited()).toMatchObject({ action: "feed token reset", author_name: "owner" });
    const token = tokenIn((await owner.get(PATH)).page);
    expect(tokenIn((await owner.get(PATH)).page)).toBe(token);
    expect((await admin.get(PATH)).page).not.toContain("glft-");
    expect(await reads(token)).toBe(200);
    await owner.post("/-/profile/reset_feed_token");
    const other = tokenIn((await owner.get(PATH)).page);
    expect([await reads(token), await reads(other)]).toEqual([401, 200]);
    const forged = await app.call("POST http://pm.test/-/profile/reset_feed_token", { form: "" });
    expect(forged.status).toBe(422);
  });

  it("never expire if the date is left empty", async () => {
    const made = await owner.post(PATH, { ...good, expires_at: "" });
    expect(made.page).toContain("never expires");
  });

  it.each([
    [{ name: " " }, [["name", "Name can&#39;t be blank."]]],
    [{ name: "x".repeat(256) }, [["name", "Name is too long (maximum is 255 characters)."]]],
    [{ expires_at: "soon" }, [["expires_at", "Expires on is invalid."]]],
    [{ expires_at: "2026-11-21" }, [["expires_at", "Expires on must be after today."]]],
    [{ "scopes[]": [] }, [["scopes", "Scopes can&#39;t be blank."]]],
    [{ "scopes[]": ["all"] }, [["scopes", "Scopes can only contain available scopes."]]],
    // Only administrators may have the scope sudo.
    [{ "scopes[]": ["sudo"] }, [["scopes", "Scopes can only contain available scopes."]]],
  ])("with %j are refused with an error at the field", async (change, errors) => {
    await owner.get(PATH);
    const answer = await owner.post(PATH, { ...good, ...change } as typeof good);
    expect([answer.status, errorsIn(answer.page)]).toEqual([422, errors]);
    expect(answer.page).not.toContain("pmat-");
  });

  it("of administrators may have sudo, and impersonation tokens are hidden from them", async () => {
    const made = await admin.post(PATH, { ...good, "scopes[]": ["sudo"] });
    expect(made.page).toContain("pmat-");
    const form = { name: "secret-agent", "scopes[]": "api" };
    const { json } = await app.call("POST /users/2/impersonation_tokens", {
      as: "admin",
      form: new URLSearchParams(form).toString(),
    });
    expect((await owner.get(PATH)).page).not.toContain("secret-agent");
    expect((await owner.post(`${PATH}/${json.id}/revoke`)).status).toBe(404);
  });
});

describe("applications", () => {
  const PATH = "/-/user_settings/applications";
  const good = {
    name: "Charts",
    redirect_uri: "https://charts.test/a\r\nhttps://charts.test/b",
    "scopes[]": ["read_user", "api"],
    confidential: "1",
  };
  const findOwn = async () => (await app.admin.applications.list({ user: "owner" })).at(-1);
  const secretIn = (page: string) =>
    /role="status">.*?class="secret">([0-9a-f]{64})</s.exec(page)?.[1];

  it("are registered, changed, given a new secret and deleted by their owner", async () => {
    await owner.get(PATH);
    const made = await owner.post(PATH, good);
    const secret = secretIn(made.page);
    expect(secret).toBeDefined();
    const application = await findOwn();
    expect(application).toMatchObject({
      name: "Charts",
      redirect_uris: ["https://charts.test/a", "https://charts.test/b"],
      scopes: ["read_user", "api"],
      confidential: true,
      trusted: false,
    });
    expect(made.page).toContain(application?.client_id);
    const own = `${PATH}/${application?.id}`;
    const shown = await owner.get(own);
    expect(shown.page).not.toContain(secret);
    expect(shown.page).toContain("https://charts.test/a\nhttps://charts.test/b");

    const renewed = secretIn((await owner.post(`${own}/renew_secret`)).page);
    expect(renewed).toMatch(/^[0-9a-f]{64}$/);
    expect(renewed).not.toBe(secret);

    await owner.post(own, { ...good, name: "Graphs", "scopes[]": "read_api" });
    expect(await findOwn()).toMatchObject({ name: "Graphs", scopes: ["read_api"] });
    expect((await owner.get(PATH)).page).toContain(`href="${own}">Graphs</a>`);

    // A public one has no secret, and needs a new one to become confidential.
    await owner.post(own, { name: "Graphs", redirect_uri: good.redirect_uri, "scopes[]": "api" });
    expect(await findOwn()).toMatchObject({ confidential: false });
    expect((await owner.get(own)).page).not.toContain("renew_secret");
    await owner.post(own, good);
    expect((await owner.get(own)).page).toContain("It has none yet");

    expect((await owner.post(`${own}/delete`)).headers.get("location")).toBe(PATH);
    expect((await owner.get(own)).status).toBe(404);
    expect(await audited()).toMatchObject({ action: "application deleted", author_name: "owner" });
  });

  it("have no secret to show if they are public", async () => {
    const { confidential: _, ...form } = good;
    const made = await owner.post(PATH, form);
    expect(secretIn(made.page)).toBeUndefined();
    expect(await findOwn()).toMatchObject({ confidential: false });
  });

  it("of other users are 404, for administrators too", async () => {
    await owner.post(PATH, good);
    const own = `${PATH}/${(await findOwn())?.id}`;
    await admin.get(PATH);
    expect((await admin.get(PATH)).page).not.toContain("Charts");
    expect((await admin.get(own)).status).toBe(404);
    for (const action of ["", "/renew_secret", "/delete", "/revoke_access"]) {
      expect([action, (await admin.post(own + action, good)).status]).toEqual([action, 404]);
    }
    expect(await findOwn()).toMatchObject({ name: "Charts" });
  });

  it.each([
    [{ name: "" }, [["name", "Name can&#39;t be blank."]]],
    [{ redirect_uri: "" }, [["redirect_uri", "Redirect URI can&#39;t be blank."]]],
    [{ redirect_uri: "/here" }, [["redirect_uri", "Redirect URI must be an absolute URI."]]],
    [{ "scopes[]": [] }, [["scopes", "Scopes can&#39;t be blank."]]],
    [{ "scopes[]": ["all"] }, [["scopes", "Scopes can only contain available scopes."]]],
  ])("with %j are refused with an error at the field, new or not", async (change, errors) => {
    await owner.get(PATH);
    const before = await app.admin.applications.list({ user: "owner" });
    for (const path of [PATH, `${PATH}/${before[0]?.id}`]) {
      const answer = await owner.post(path, { ...good, ...change } as typeof good);
      expect([answer.status, errorsIn(answer.page)]).toEqual([422, errors]);
    }
    expect(await app.admin.applications.list({ user: "owner" })).toEqual(before);
  });

  it("lose a user's authorization when it is revoked", async () => {
    const { id } = await app.admin.applications.create({
      user: "admin",
      name: "Wallboard",
      redirect_uris: ["https://wall.test/"],
      scopes: ["read_user"],
    });
    await app.store.transaction((db) =>
      db.run(
        `insert into oauth_grants (application_id, user_id, scopes, code_used, created_at, ends_at)
         values (?, 2, 'read_user', 1, ?, ?)`,
        [id, at, at + 1000],
      ),
    );
    expect((await admin.get(PATH)).page).toContain("No application is.");
    const { page } = await owner.get(PATH);
    expect(page).toMatch(/<h3>Wallboard<\/h3>\s*<p>registered by @admin/);
    expect((await owner.post(`${PATH}/${id}/revoke_access`)).headers.get("location")).toBe(PATH);
    expect((await owner.get(PATH)).page).toContain("No application is.");
    expect((await owner.post(`${PATH}/${id}/revoke_access`)).status).toBe(404);
  });
});

describe("the password", () => {
  const PATH = "/-/user_settings/password";
  const change = {
    current_password: password,
    password: "new password",
    password_confirmation: "new password",
  };

  it.each([
    [{ current_password: "wrong" }, [["current_password", "Current password is wrong."]]],
    [
      { password_confirmation: "other" },
      [["password_confirmation", "New password again does not match."]],
    ],
    [
      { password: "short", password_confirmation: "short" },
      [["password", "New password is too short (minimum is 8 characters)."]],
    ],
    [
      { password: "ü".repeat(37), password_confirmation: "ü".repeat(37) },
      [["password", "New password is too long (maximum is 72 bytes)."]],
    ],
  ])("stays with %j", async (part, errors) => {
    await owner.get(`${PATH}/edit`);
    const answer = await owner.post(PATH, { ...change, ...part });
    expect([answer.status, errorsIn(answer.page)]).toEqual([422, errors]);
    for (const secret of [password, "new password"]) expect(answer.page).not.toContain(secret);
  });

  it("is changed: other sessions end, this one continues under another cookie", async () => {
    const other = new Visitor(app);
    await other.signIn("owner", password);
    await owner.get(`${PATH}/edit`);
    const { cookie } = owner;
    const answer = await owner.post(PATH, change);
    expect((await owner.follow(answer)).page).toContain("Your password has been changed.");
    expect(owner.cookie).not.toBe(cookie);
    expect((await other.get("/api/v4/user")).status).toBe(401);
    other.cookie = cookie;
    expect((await other.get("/api/v4/user")).status).toBe(401);
    expect((await new Visitor(app).signIn("owner", password)).status).toBe(401);
    expect((await new Visitor(app).signIn("owner", "new password")).status).toBe(303);
    expect((await app.call("GET /user", { as: "owner" })).status).toBe(200);
  });

  it("can't be guessed with a stolen session", async () => {
    await admin.get(`${PATH}/edit`);
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt += 1) {
      statuses.push((await admin.post(PATH, { ...change, current_password: "wrong" })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(422), 429]);
    const stopped = await admin.post("/-/profile/two_factor_auth/start", { password });
    expect(stopped.page).toContain("Wait 10 minutes before the next try.");
  });
});

describe("what people look after themselves", () => {
  let ada: Visitor;
  beforeAll(async () => {
    await givePassword(app, "maintainer");
    ada = new Visitor(app);
    await ada.signIn("maintainer", password);
    await ada.get("/-/profile");
  });
  const fields = async (path: string) => fieldsOf((await ada.get(path)).page);
  const me = async () => (await app.call("GET /user", { as: "maintainer" })).json;

  it("is what others see of them", async () => {
    const PATH = "/-/user_settings/profile";
    const shown = await fields(PATH);
    expect([shown["name"], shown["commit_email"]]).toEqual([
      "The maintainer",
      "maintainer@example.com",
    ]);
    const said = { name: "Ida", bio: HOSTILE, website_url: "https://ida.example", pronouns: "she" };
    const saved = await ada.post(PATH, { ...shown, ...said, private_profile: "true" });
    expect([saved.status, saved.headers.get("location")]).toEqual([303, PATH]);
    expect(await me()).toMatchObject({ ...said, private_profile: true });
    expect((await ada.get(PATH)).page).not.toMatch(RUNS);
    const refused = await ada.post(PATH, {
      ...{ ...shown, website_url: "javascript:1", public_email: "admin@example.com", name: "" },
    });
    expect([refused.status, refused.page.includes("Full name")]).toEqual([422, true]);
    expect(refused.page).toContain('value="javascript:1"');
    const other = await ada.post(PATH, { ...shown, public_email: "admin@example.com" });
    expect([other.status, other.page.includes("is not an email you own")]).toEqual([422, true]);
    await ada.post(PATH, { ...shown, public_email: "maintainer@example.com" });
    expect((await me()).public_email).toBe("maintainer@example.com");
    await ada.post(`${PATH}/status`, { message: "Away", availability: "busy" });
    const { json: status } = await app.call("GET /user/status", { as: "maintainer" });
    expect(status).toMatchObject({ message: "Away", availability: "busy" });
    expect((await ada.get(PATH)).page).toContain('value="Away"');
    expect((await ada.post(`${PATH}/status`, { message: "x".repeat(200) })).status).toBe(422);
    const picture = async (content: Buffer) => {
      const body = new FormData();
      body.append("authenticity_token", ada.csrf);
      body.append("avatar", new Blob([new Uint8Array(content)]), "me.png");
      const headers = { cookie: ada.cookie };
      const url = `http://localhost${PATH}/picture`;
      return (await app.fetch(new Request(url, { method: "POST", body, headers }))).status;
    };
    const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
    expect(await picture(png)).toBe(303);
    expect((await me()).avatar_url).toContain("me.png");
    expect(await picture(Buffer.from("<svg>"))).toBe(422);
    expect(await picture(Buffer.alloc(0))).toBe(303);
    expect((await me()).avatar_url).not.toContain("me.png");
  });

  it("is their addresses, one of which is that of the account", async () => {
    const PATH = "/-/profile/emails";
    const added = await ada.post(`${PATH}/new`, { email: "ida@two.example" });
    expect(added.headers.get("location")).toBe(PATH);
    expect((await ada.get(PATH)).page).toContain("to be confirmed");
    const taken = await ada.post(`${PATH}/new`, { email: "admin@example.com" });
    expect([taken.status, taken.page.includes("has already been taken")]).toEqual([422, true]);
    const { json } = await app.call("GET /user/emails", { as: "maintainer" });
    const id = json[0].id;
    const sent = { current_password: password };
    const early = await ada.post(`${PATH}/${id}/primary`, sent);
    expect([early.status, early.page.includes("must be confirmed")]).toEqual([422, true]);
    await app.store.transaction((db) =>
      db.run("update user_emails set confirmed_at = ? where id = ?", [at, id]),
    );
    expect((await ada.get(PATH)).page).toContain(`${PATH}/${id}/primary`);
    const wrong = await ada.post(`${PATH}/${id}/primary`, { current_password: "wrong" });
    expect([wrong.status, errorsIn(wrong.page)]).toEqual([
      422,
      [["field-current_password", "Your password is wrong."]],
    ]);
    expect((await admin.post(`${PATH}/${id}/primary`, sent)).status).toBe(404);
    expect((await ada.post(`${PATH}/${id}/primary`, sent)).headers.get("location")).toBe(PATH);
    expect((await me()).email).toBe("ida@two.example");
    expect(await audited()).toMatchObject({ action: "e-mail address changed" });
    const { json: now } = await app.call("GET /user/emails", { as: "maintainer" });
    expect(now.map(({ email }: { email: string }) => email)).toEqual(["maintainer@example.com"]);
    await ada.post(`${PATH}/${now[0].id}/delete`);
    expect((await ada.get(PATH)).page).toContain("You have no other addresses.");
  });

  it("is their keys", async () => {
    const SSH = "/-/user_settings/ssh_keys";
    const key =
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGVGcpzIwSJVGGtKMLSfjZNWkQAfQlYRKP2bMTvCDmYH one";
    const form = { key, title: HOSTILE, usage_type: "auth", expires_at: "2027-01-31" };
    expect((await ada.post(`${SSH}/new`, form)).headers.get("location")).toBe(SSH);
    const { json: keys } = await app.call("GET /user/keys", { as: "maintainer" });
    expect(keys).toMatchObject([{ title: HOSTILE, usage_type: "auth" }]);
    const { page } = await ada.get(SSH);
    expect(page).not.toMatch(RUNS);
    expect(page).toContain("expires 2027-01-31");
    const wrong = await ada.post(`${SSH}/new`, { ...form, key: "ssh-rsa none" });
    expect([wrong.status, fieldsOf(wrong.page)["key"]]).toEqual([422, "ssh-rsa none"]);
    expect((await admin.post(`${SSH}/${keys[0].id}/delete`)).status).toBe(404);
    expect((await ada.post(`${SSH}/${keys[0].id}/delete`)).status).toBe(303);
    expect((await ada.get(SSH)).page).toContain("You have none.");
    const GPG = "/-/user_settings/gpg_keys";
    expect((await ada.post(`${GPG}/new`, { key: gpgKeyOf(7) })).status).toBe(303);
    expect((await ada.post(`${GPG}/new`, { key: "none" })).status).toBe(422);
    const { json: signing } = await app.call("GET /user/gpg_keys", { as: "maintainer" });
    expect((await ada.get(GPG)).page).toContain(`Key ${signing[0].id}`);
    expect((await ada.post(`${GPG}/${signing[0].id}/revoke`)).status).toBe(303);
    expect((await ada.get(GPG)).page).toContain("You have none.");
  });

  it("is what they get mails about, everywhere and of a group or project", async () => {
    const PATH = "/-/profile/notifications";
    const { page } = await ada.get(PATH);
    for (const path of ["/acme/site", "/groups/acme"]) {
      expect(page).toContain(`href="${path}/-/notification_settings"`);
    }
    expect((await ada.post(PATH, { level: "watch", notification_email: "" })).status).toBe(303);
    const settings = async (of = "") =>
      (await app.call(`GET ${of}/notification_settings`, { as: "maintainer" })).json;
    expect((await settings()).level).toBe("watch");
    expect((await ada.post(PATH, { level: "none" })).status).toBe(422);
    const site = "/acme/site/-/notification_settings";
    expect((await fields(site))["level"]).toBe("global");
    await ada.post(site, { level: "custom", new_issue: "true" });
    expect(await settings("/projects/acme%2Fsite")).toMatchObject({
      ...{ level: "custom", events: { new_issue: true, new_note: false } },
    });
    expect(await fields(site)).toMatchObject({ level: "custom", new_issue: "true" });
    await ada.post("/groups/acme/-/notification_settings", { level: "disabled" });
    expect((await settings("/groups/acme")).level).toBe("disabled");
    expect((await new Visitor(app).get(site)).status).toBe(302);
  });
});
