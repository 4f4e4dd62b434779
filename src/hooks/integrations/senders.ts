import type { HookTrigger } from "../events.ts";
import { CHANNELS, type Integration, type SenderName } from "./catalogue.ts";
import { type Link, type Message, messageOf, type Told, type Words, write } from "./messages.ts";

/** The settings of an integration, with its secrets. */
export type Settings = Readonly<Record<string, unknown>>;

/** Where something is sent, and with what, besides its body. */
export interface Sending {
  readonly url: string;
  readonly method?: "PUT";
  /** With secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers without secrets, in place of those that all hooks get. */
  readonly replaced?: Readonly<Record<string, string>>;
  /** What is before the body: secrets, which are not kept with it. */
  readonly before?: string;
}

/** How something is sent to a program. */
interface Sender {
  /** What is sent of something that happened, without secrets; `undefined` for nothing. */
  readonly bodyOf: (told: Told, settings: Settings) => string | undefined;
  /**
   * Where it is sent.
   *
   * @param body as it was made
   * @param key the same for every attempt
   */
  readonly sending: (settings: Settings, event: HookTrigger, body: string, key: string) => Sending;
}

/** A setting as a text; `""` if it is not set. */
const textOf = (settings: Settings, name: string) => String(settings[name] ?? "");

/** The part of an address before another one, without `/` at its end. */
const rootOf = (url: string) => url.replace(/\/+$/, "");

const withQuery = (url: string, query: Readonly<Record<string, string>>) => {
  const added = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return `${url}${url.includes("?") ? "&" : "?"}${added}`;
};

/** A program that shows messages. @param shown the JSON that it takes @param sending default: its webhook */
function messenger(
  shown: (message: Message, settings: Settings, event: HookTrigger) => object,
  sending: Sender["sending"] = (settings) => ({ url: textOf(settings, "webhook") }),
): Sender {
  return {
    bodyOf: (told, settings) => {
      const message = messageOf(told);
      return message && JSON.stringify(shown(message, settings, told.event));
    },
    sending,
  };
}

/** A program that takes the payloads of webhooks. */
function receiver(sending: Sender["sending"]): Sender {
  return { bodyOf: ({ body }) => JSON.stringify(body), sending };
}

const escapedHtml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Slack's markup, in which a link is `<address|text>`. */
const slackWords = (words: Words) =>
  write(words, ({ text, url }) => `<${url}|${escapedHtml(text)}>`, escapedHtml);
const escapedMarkdown = (text: string) => text.replace(/[\\`*_[\]<>~|]/g, "\\$&");
const markdownLink = ({ text, url }: Link) => `[${escapedMarkdown(text)}](${url})`;
/** Markdown, in which descriptions and comments stay as they were written. */
const markdown = (words: Words) => write(words, markdownLink, (text) => text);
const htmlLink = ({ text, url }: Link) =>
  `<a href="${escapedHtml(url).replaceAll('"', "&quot;")}">${escapedHtml(text)}</a>`;
const html = (words: Words) => write(words, htmlLink, escapedHtml);
const plain = (words: Words) =>
  write(
    words,
    ({ text }) => text,
    (text) => text,
  );

/** A message as one text. */
const whole = ({ summary, detail }: Message, as: (words: Words) => string) =>
  [summary, ...detail].map(as).join("\n");

const channelOf = (settings: Settings, event: HookTrigger) => {
  const name = (CHANNELS as Partial<Record<HookTrigger, string>>)[event];
  return textOf(settings, `${name}_channel`);
};

const slack = messenger(({ summary, subject, detail, color }, settings, event) => {
  const channel = channelOf(settings, event) || textOf(settings, "channel");
  const username = textOf(settings, "username");
  return {
    text: slackWords(summary),
    ...(channel !== "" && { channel }),
    ...(username !== "" && { username }),
    ...((subject || detail.length > 0) && {
      attachments: [
        {
          fallback: plain(summary),
          color: `#${color}`,
          ...(subject && { title: escapedHtml(subject.text), title_link: subject.url }),
          text: detail.map(slackWords).join("\n"),
          mrkdwn_in: ["text"],
        },
      ],
    }),
  };
});

const discord = messenger(
  ({ project, summary, detail, color }) => ({
    embeds: [
      {
        author: { name: project.text, url: project.url },
        description: [markdown(summary), ...detail.map(markdown)].join("\n").slice(0, 4096),
        color: Number.parseInt(color, 16),
      },
    ],
    // Nobody is called by what others write.
    allowed_mentions: { parse: [] },
  }),
  (settings, event) => ({ url: channelOf(settings, event) || textOf(settings, "webhook") }),
);

const teams = messenger(({ project, summary, detail, color }) => ({
  "@type": "MessageCard",
  "@context": "https://schema.org/extensions",
  summary: plain(summary),
  title: project.text,
  themeColor: color,
  sections: [
    { activityTitle: markdown(summary) },
    ...(detail.length > 0 ? [{ text: detail.map(markdown).join("\n\n") }] : []),
  ],
}));

const telegram = messenger(
  (message, settings) => ({
    chat_id: textOf(settings, "room"),
    ...(typeof settings["thread"] === "number" && { message_thread_id: settings["thread"] }),
    text: whole(message, html),
    parse_mode: "HTML",
  }),
  (settings) => {
    const host = rootOf(textOf(settings, "hostname") || "https://api.telegram.org");
    return { url: `${host}/bot${textOf(settings, "token")}/sendMessage` };
  },
);

const matrix = messenger(
  (message) => ({
    msgtype: "m.text",
    body: whole(message, plain),
    format: "org.matrix.custom.html",
    formatted_body: whole(message, html).replaceAll("\n", "<br>"),
  }),
  (settings, _event, _body, key) => {
    const host = rootOf(textOf(settings, "hostname") || "https://matrix.org");
    const room = encodeURIComponent(textOf(settings, "room"));
    return {
      url: `${host}/_matrix/client/v3/rooms/${room}/send/m.room.message/${key}`,
      method: "PUT",
      headers: { Authorization: `Bearer ${textOf(settings, "token")}` },
    };
  },
);

const pushover: Sender = {
  bodyOf: (told, settings) => {
    const message = messageOf(told);
    if (!message) return undefined;
    const { project } = message;
    const form = {
      device: textOf(settings, "device"),
      priority: textOf(settings, "priority"),
      sound: textOf(settings, "sound"),
      title: project.text,
      // Pushover takes no more.
      message: whole(message, plain).slice(0, 1024),
      url: project.url,
      url_title: `See project ${project.text}`,
    };
    return withQuery("", form).slice(1);
  },
  sending: (settings) => {
    const [token, user] = [textOf(settings, "api_key"), textOf(settings, "user_key")];
    return {
      url: "https://api.pushover.net/1/messages.json",
      replaced: { "Content-Type": "application/x-www-form-urlencoded" },
      before: `${new URLSearchParams({ token, user })}&`,
    };
  },
};

const jenkins = receiver((settings) => {
  const [user, password] = [textOf(settings, "username"), textOf(settings, "password")];
  const basic = Buffer.from(`${user}:${password}`).toString("base64");
  const project = textOf(settings, "project_name").split("/").map(encodeURIComponent).join("/");
  return {
    url: `${rootOf(textOf(settings, "jenkins_url"))}/project/${project}`,
    ...(user !== "" && { headers: { Authorization: `Basic ${basic}` } }),
  };
});

const drone = receiver((settings, _event, body) => {
  const { project } = JSON.parse(body);
  const path = String(project.path_with_namespace);
  const at = path.lastIndexOf("/");
  return {
    url: withQuery(`${rootOf(textOf(settings, "drone_url"))}/hook`, {
      owner: path.slice(0, at),
      name: path.slice(at + 1),
      access_token: textOf(settings, "token"),
    }),
  };
});

const buildkite = receiver((settings) => ({
  url: `https://webhook.buildkite.com/deliver/${encodeURIComponent(textOf(settings, "token"))}`,
}));

const datadog: Sender = {
  bodyOf: ({ body }, settings) =>
    settings["datadog_ci_visibility"] === false ? undefined : JSON.stringify(body),
  sending: (settings) => {
    const site = textOf(settings, "datadog_site") || "datadoghq.com";
    const url =
      textOf(settings, "api_url") || `https://webhook-intake.${encodeURI(site)}/api/v2/webhook`;
    const tags = textOf(settings, "datadog_tags").split("\n").join(",");
    return {
      url: withQuery(url, {
        "dd-api-key": textOf(settings, "api_key"),
        service: textOf(settings, "datadog_service"),
        env: textOf(settings, "datadog_env"),
        tags,
      }),
    };
  },
};

const packagist = receiver((settings) => {
  const server = rootOf(textOf(settings, "server") || "https://packagist.org");
  const [username, apiToken] = [textOf(settings, "username"), textOf(settings, "token")];
  return { url: withQuery(`${server}/api/update-package`, { username, apiToken }) };
});

/** How what happens is sent on; mails are not, see `mails.ts`. */
const SENDERS: Readonly<Record<Exclude<SenderName, "pipelineMail" | "pushMail">, Sender>> = {
  slack,
  pumble: messenger((message) => ({ text: whole(message, markdown) })),
  discord,
  teams,
  googleChat: messenger((message) => ({ text: whole(message, slackWords) })),
  telegram,
  matrix,
  pushover,
  circuit: messenger((message) => ({
    subject: message.project.text,
    text: whole(message, markdown),
    markdown: true,
  })),
  webex: messenger((message) => ({ markdown: whole(message, markdown) })),
  jenkins,
  drone,
  buildkite,
  datadog,
  packagist,
};

/** How an integration sends on what happens; `undefined` if it does not, or by mail. */
export function senderOf({ sender }: Integration): Sender | undefined {
  return sender && (SENDERS as Partial<Record<SenderName, Sender>>)[sender];
}
