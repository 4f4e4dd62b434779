import * as audit from "../audit/log.ts";
import { attempt, refund } from "../auth/throttle.ts";
import { networkOf } from "../core/http/network.ts";
import * as param from "../core/input.ts";
import { type PageContext, type RawReply, type Resource, routes } from "../core/resource.ts";
import { field, form, formText } from "../pages/form.ts";
import { instant } from "../pages/format.ts";
import { html } from "../pages/html.ts";
import { page } from "../pages/page.ts";
import { type Application, find } from "./applications.ts";
import { signedInAt } from "./asking.ts";
import { authenticateClient, clientInput } from "./client.ts";
import { asks } from "./consent.ts";
import * as devices from "./devices.ts";
import { jsonReply, problem, refusal } from "./errors.ts";
import { grantableScopes, parameter } from "./rules.ts";

const { get, post } = routes();

const PATH = "/oauth/device";

/** How many devices of an application may ask from one address until the codes of the first have expired. */
const MOST_DEVICES = 10;
/** How often somebody may enter a code that there is not. */
const WRONG_CODES = { max: 10, window: 10 * 60_000 };
const wrongCodesOf = (userId: number) => `user codes of ${userId}`;

/** Where a device begins: RFC 8628 §3.1. */
export const deviceAuthorization: Resource = {
  name: "OAuth2 devices",
  migrations: [],
  routes: [
    post("/oauth/authorize_device", {
      summary: "Get the codes by which somebody lets in a device that has no browser (RFC 8628)",
      access: "anyone",
      status: 200,
      examples: [
        {
          device_code: "5f6b…",
          user_code: "QXZ4N8RC",
          verification_uri: "https://pm.example.com/oauth/device",
          verification_uri_complete: "https://pm.example.com/oauth/device?user_code=QXZ4N8RC",
          expires_in: 300,
          interval: 5,
        },
      ],
      input: { ...clientInput, scope: parameter },
      prepare: async (input, preparing) => {
        const client = await authenticateClient(preparing, input);
        if (!client) throw refusal(problem("invalid_client"));
        const scopes = grantableScopes(input.scope, client.scopes);
        if (scopes === undefined) throw refusal(problem("invalid_scope"));
        const { store, request, now } = preparing;
        if (request.ip !== "") {
          const key = `devices of ${client.uid} from ${networkOf(request.ip)}`;
          const window = devices.DEVICE_LIFETIME;
          await attempt(store, [{ key, name: "devices", max: MOST_DEVICES, window }], now);
        }
        return { applicationId: client.id, scopes };
      },
      handle: async ({ db, prepared, request: { ip }, view, now }) => {
        const codes = await devices.insertDevice(db, { ...prepared, ip }, now);
        const address = `${view.base}${PATH}`;
        return jsonReply({
          device_code: codes.deviceCode,
          user_code: codes.userCode,
          verification_uri: address,
          verification_uri_complete: `${address}?user_code=${codes.userCode}`,
          expires_in: devices.DEVICE_LIFETIME / 1000,
          interval: devices.POLL_INTERVAL / 1000,
        });
      },
    }),
  ],
};

const userCode = { user_code: param.optional(formText) };

/** Where people let devices in: RFC 8628 §3.3. Opening a link does nothing, since others may have sent it. */
export const devicePages: Resource = {
  name: "Devices",
  migrations: [],
  routes: [
    get(PATH, {
      summary: "Page to enter the code that a device shows",
      input: userCode,
      handle: (context) => codePage(context, context.input.user_code),
    }),
    post(PATH, {
      summary: "Show the device of a code, and let it in or turn it away with `decision`",
      input: { ...userCode, decision: param.optional(param.choice(["authorize", "deny"])) },
      // Counted before it is looked up, and taken back if there is such a device.
      prepare: (_, { store, caller, now }) =>
        attempt(store, [{ ...WRONG_CODES, key: wrongCodesOf(caller.id) }], now),
      handle: async (context) => {
        const { db, caller, input, now } = context;
        const entered = input.user_code ?? "";
        const device = await devices.findByUserCode(db, entered);
        const application = device && (await find(db, device.application_id));
        if (!device || !application) return codePage(context, entered, "The user code is invalid");
        await refund(db, wrongCodesOf(caller.id));
        if (device.expires_at <= now) return codePage(context, entered, "The user code is expired");
        if (input.decision === undefined) return devicePage(context, device, application, entered);
        if (input.decision === "deny") {
          await devices.turnAway(db, device);
          return endPage(context, "Device turned away", "It gets no access to your account.");
        }
        const authTime = await signedInAt(db, caller);
        await devices.letIn(db, device, { userId: caller.id, authTime });
        await audit.log(context, "application authorized", { target: application.name });
        return endPage(
          context,
          "Device successfully authorized",
          `${application.name} goes on by itself on the device. You can close this page.`,
        );
      },
    }),
  ],
};

function codePage(visit: PageContext, entered: string | undefined, error?: string): RawReply {
  const body = html`<p class="lead">Enter the code that your device shows. Do so only if you have begun to sign in there yourself.</p>
<section class="wide">${form(
    visit,
    PATH,
    html`${field({
      name: "user_code",
      label: "Code",
      value: entered,
      error: error === undefined ? undefined : [error],
      autofocus: true,
    })}
<button>Continue</button>`,
  )}</section>`;
  return page(visit, { title: "Sign in on a device", status: error ? 422 : 200, body });
}

/** Which application asks for what, from where and since when, so that people notice if it was not they who began. */
function devicePage(
  visit: PageContext,
  { scopes, ip, created_at }: devices.Device,
  application: Application,
  entered: string,
): RawReply {
  const button = (decision: string, text: string, style: string) =>
    html`<div class="wide field">${form(
      visit,
      PATH,
      html`<input type="hidden" name="user_code" value="${entered}">
<input type="hidden" name="decision" value="${decision}"><button${style !== "" && html` class="${style}"`}>${text}</button>`,
    )}</div>`;
  const body = html`<section>
${asks(visit, application, scopes)}
<p class="lead">A device has asked for it at ${instant(created_at)}${
    ip !== "" && html`, from the address <strong>${ip}</strong>`
  }. If you did not begin this yourself, deny it.</p>
${button("authorize", "Authorize", "")}
${button("deny", "Deny", "quiet")}
</section>`;
  return page(visit, { title: `Authorize ${application.name}?`, body });
}

function endPage(visit: PageContext, title: string, text: string): RawReply {
  const body = html`<div class="note good" role="status"><p>${text}</p></div>`;
  return page(visit, { title, body });
}
