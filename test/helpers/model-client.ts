import { Pool } from "undici";

/** What a model server says. */
export interface Said {
  readonly status: number;
  readonly text: string;
}

/** Speaks to the model servers in `test/fixtures`, through whatever is before them. */
export interface ModelClient {
  /** Who answers: its model, and the pid of its process. Throws unless it is answered well. */
  who(): Promise<{ model: string; pid: number }>;
  /** The model that completes a text, all of it. Throws unless all of it comes. */
  complete(stream: boolean): Promise<string>;
  /** The tokens as they come; the last one once a file is there. */
  tokens(waitFor: string): AsyncGenerator<string>;
  /** Any GET, with the key or another one. */
  get(path: string, key?: string | null): Promise<Said>;
  close(): Promise<void>;
}

const tokens = ["t0 ", "t1 ", "t2 ", "t3 "];

/** Opens a client that gives this key, and trusts certificates of `ca`; nothing is connected yet. */
export function openModelClient(endpoint: string, key: string, ca: string[] = []): ModelClient {
  const connect = ca.length > 0 ? { ca } : {};
  const limits = { connections: null, headersTimeout: 0, bodyTimeout: 0 };
  const pool = new Pool(endpoint, { ...limits, connect });
  const bearing = (given: string | null) =>
    given === null ? {} : { authorization: bearer(given) };

  async function get(path: string, given: string | null = key): Promise<Said> {
    const { statusCode, body } = await pool.request({
      method: "GET",
      path,
      headers: bearing(given),
    });
    return { status: statusCode, text: await body.text() };
  }

  async function ask(stream: boolean, more: object = {}) {
    const { statusCode, body } = await pool.request({
      method: "POST",
      path: "/v1/chat/completions",
      headers: { "content-type": "application/json", ...bearing(key) },
      body: JSON.stringify({ stream, max_tokens: tokens.length, ...more }),
    });
    if (statusCode === 200) return body;
    throw new Error(`answered ${statusCode}: ${await body.text()}`);
  }

  return {
    get,
    async who() {
      const { status, text } = await get("/v1/models");
      if (status !== 200) throw new Error(`answered ${status}: ${text}`);
      const [{ id: model, owned_by }] = JSON.parse(text).data;
      return { model, pid: Number(owned_by) };
    },
    async complete(stream) {
      const text = await (await ask(stream)).text();
      const { model, content } = stream ? eventsIn(text) : completionIn(text);
      if (content === tokens.join("")) return model;
      throw new Error(`an answer of ${model} is not whole: ${JSON.stringify(text)}`);
    },
    async *tokens(waitFor) {
      let rest = "";
      for await (const chunk of await ask(true, { metadata: { wait_for: waitFor } })) {
        const events = (rest + chunk).split("\n\n");
        rest = events.pop() ?? "";
        yield* events.filter((event) => event !== done).map((event) => tokenIn(event).content);
      }
    },
    close: () => pool.destroy(),
  };
}

const bearer = (key: string): string => `Bearer ${key}`;
const done = "data: [DONE]";

function tokenIn(event: string): { model: string; content: string } {
  const { model, choices } = JSON.parse(event.replace("data: ", ""));
  return { model, content: choices[0].delta.content };
}

/** One without its end has no model. */
function eventsIn(text: string): { model: string; content: string } {
  const events = text.trimEnd().split("\n\n");
  const all = events.slice(0, -1).map(tokenIn);
  const model = events.at(-1) === done ? (all[0]?.model ?? "") : "";
  return { model, content: model && all.map(({ content }) => content).join("") };
}

function completionIn(text: string): { model: string; content: string } {
  const { model, choices } = JSON.parse(text);
  return { model, content: choices[0].message.content };
}
