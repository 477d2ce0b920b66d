/** A browser without scripts: keeps cookies, goes where it is sent. */
export interface PlainBrowser {
  /** Goes on until an answer is no redirect, or leads to an address that it stops at. */
  go(url: string, form?: Record<string, string>): Promise<Shown>;
  /** What a script of a page sends. */
  postJson(url: string, value: unknown): Promise<Response>;
}

interface Shown {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
}

/** Opens one; where `until` is given, it stops where it is sent to an address that begins so. */
export function openPlainBrowser(until?: string): PlainBrowser {
  const jar = new Map<string, string>();
  async function ask(url: URL, init: RequestInit): Promise<Response> {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { cookie, accept: "text/html", origin: url.origin, ...init.headers };
    const answer = await fetch(url, { ...init, redirect: "manual", headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  return {
    async go(first, form) {
      let url = new URL(first);
      let body = form && new URLSearchParams(form);
      for (;;) {
        if (until !== undefined && url.href.startsWith(until)) return { url, status: 0, text: "" };
        const answer = await ask(url, body === undefined ? {} : { method: "POST", body });
        const { status } = answer;
        const location = answer.headers.get("location");
        if (location === null) return { url, status, text: await answer.text() };
        await answer.body?.cancel();
        [url, body] = [new URL(location, url), undefined];
      }
    },
    postJson: (url, value) =>
      ask(new URL(url), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(value),
      }),
  };
}

/** Approves the login whose page a client printed, once somebody has logged in with this browser. */
export async function approve(browser: PlainBrowser, page: string): Promise<void> {
  const { origin, searchParams } = new URL(page);
  const body = { code_challenge: searchParams.get("code_challenge") };
  const answer = await browser.postJson(`${origin}/api/v1/auth/authorize`, body);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${await answer.text()}`);
}
