import { authorizeBy } from "../../sidecar/authorize.ts";
import type { ErrorStyle } from "../../sidecar/forward/answers.ts";
import { engines } from "../../sidecar/forward/engines.ts";
import type { Engine, ForwardLimits } from "../../sidecar/forward/front.ts";
import type { Passage } from "../../sidecar/forward/passage.ts";
import { always, type Choose } from "../../sidecar/forward/route.ts";
import { type Serving, serve } from "../../sidecar/forward/serve.ts";
import { type Key, type Keys, openKeys } from "../../sidecar/keys.ts";
import { dial, type RawUpstream, rawUpstream, type Wire } from "./raw.ts";

interface Cleaner {
  after(clean: () => void | Promise<void>): void;
}

export const goodKey = "good-key";
export const bearer = `Authorization: Bearer ${goodKey}\r\n`;

/** Both engines, for the tests that hold for either. */
export { engines };

type OpenEngine = () => Promise<Engine>;

export const aKey = (key: string, id = key): Key => ({ id, secret: { plain: Buffer.from(key) } });

const limits: ForwardLimits = {
  connections: 1_000,
  headBytes: 16_384,
  headCount: 100,
  stripAuthorization: false,
  trustForwarded: false,
  breaksOff: false,
  headMs: 60_000,
  idleMs: 60_000,
  stalledMs: 60_000,
  connectMs: 60_000,
  upstreamMs: 60_000,
};

/** A sidecar of this process, before an upstream whose every byte is the test's own. */
export interface Bed {
  readonly upstream: RawUpstream;
  readonly serving: Serving;
  readonly keys: Keys;
  readonly passages: Passage[];
  /** What holds from now on; what is waited for already is waited for as before. */
  readonly limits: { -readonly [Name in keyof ForwardLimits]: ForwardLimits[Name] };
  dial(): Wire;
  /** Sends a request of these lines with the right key; answers the answer. */
  ask(requestLine: string, lines?: string, body?: string): Promise<string>;
}

export interface BedOptions extends Partial<ForwardLimits> {
  readonly allowPath?: readonly string[];
  readonly keys?: readonly Key[];
  readonly upstreamPort?: number;
  readonly choose?: Choose;
  readonly errorStyle?: ErrorStyle;
}

/** Builds a sidecar with this engine; everything ends with the test. */
export async function aSidecar(
  t: Cleaner,
  engine: OpenEngine = engines.splice,
  {
    allowPath = [],
    keys: given = [aKey(goodKey)],
    upstreamPort,
    choose,
    errorStyle = "plain",
    ...more
  }: BedOptions = {},
): Promise<Bed> {
  const upstream = await rawUpstream(t);
  const keys = openKeys(given);
  const passages: Passage[] = [];
  const own = { ...limits, ...more };
  const parts = {
    limits: own,
    authorize: authorizeBy(keys, allowPath),
    observer: { wantsPath: true, ended: (passage: Passage) => void passages.push({ ...passage }) },
    choose: choose ?? always({ host: "127.0.0.1", port: upstreamPort ?? upstream.port }),
    engine: await engine(),
    errorStyle,
  };
  const serving = await serve(parts, { host: "127.0.0.1", port: 0 });
  t.after(async () => {
    await serving.drain(0);
  });
  const open = () => dial(t, serving.address.port);
  return {
    upstream,
    serving,
    keys,
    passages,
    limits: own,
    dial: open,
    async ask(requestLine, lines = "", body = "") {
      const wire = open();
      wire.send(`${requestLine}\r\nHost: a\r\n${bearer}${lines}\r\n${body}`);
      return wire.answer(requestLine.startsWith("HEAD "));
    },
  };
}

/** A message without the lines about its connection, of which every engine has its own. */
export const plain = (message = ""): string =>
  message.replace(/^connection: (keep-alive|close)\r\n/im, "");

export const bodyOf = (message: string): string => message.slice(message.indexOf("\r\n\r\n") + 4);
