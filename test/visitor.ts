/** The server's origin for visitors. */
export const ORIGIN = "http://localhost";

/** An answer and its page's text. */
export type Shown = Response & { page: string };

/** A minimal browser for our pages: it stores the cookie and the CSRF token of the last page with one. */
export class Visitor {
  cookie = "";
  csrf = "";
  /** Headers sent with every request. */
  headers: Record<string, string> = {};

  constructor(private readonly app: { fetch(request: Request): Promise<Response> }) {}

  get(path: string): Promise<Shown> {
    return this.send(path, {});
  }

  /** Sends a form like its page would; arrays are sent as repeated values. */
  post(path: string, form: Record<string, string | string[]> = {}, csrf = this.csrf) {
    const body = new URLSearchParams({ authenticity_token: csrf });
    for (const [name, values] of Object.entries(form)) {
      for (const value of [values].flat()) body.append(name, value);
    }
    return this.send(path, { method: "POST", body });
  }

  /** Signs in with a password, using the form. */
  async signIn(login: string, password: string): Promise<Shown> {
    await this.get("/users/sign_in");
    return this.post("/users/sign_in", { login, password });
  }

  /** Follows an answer's redirect. */
  follow(answer: Response): Promise<Shown> {
    return this.get((answer.headers.get("location") ?? "").replace(ORIGIN, ""));
  }

  private async send(path: string, init: RequestInit): Promise<Shown> {
    const headers = new Headers(this.headers);
    if (this.cookie) headers.set("cookie", this.cookie);
    const response = await this.app.fetch(new Request(ORIGIN + path, { ...init, headers }));
    const set = response.headers.get("set-cookie");
    if (set) this.cookie = set.split(";")[0] as string;
    const page = await response.text();
    this.csrf = /name="authenticity_token" value="(\w+)"/.exec(page)?.[1] ?? this.csrf;
    return Object.assign(response, { page });
  }
}
