import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { AppError, fail } from "../../../common/errors.ts";
import { limited } from "../../../common/limited.ts";
import { product } from "../../../common/product.ts";
import type { KubeApi } from "./api.ts";
import { type Channels, commandStream } from "./channels.ts";

/** The container of ours in a pod. */
export const containerName = "node";

/** Where pods of ours have the Node.js of another image. */
export const runtimeFolder = `/opt/${product.word}/runtime`;

/** The home of users who cannot write to theirs. */
const otherHome = "/tmp/home";

/**
 * Sets `$root`, and a HOME that the image's user can write to. HOME is `/` for users without an entry in /etc/passwd.
 * Once one has the agent's folder, it stays the one: what can be written to may change.
 */
export const findRoot = `export HOME="\${HOME:-/root}"
[ -d "$HOME/.${product.word}/agent" ] ||
  { [ ! -d ${otherHome}/.${product.word}/agent ] && mkdir -p "$HOME" 2> /dev/null && [ -w "$HOME" ]; } ||
  HOME=${otherHome}
root="$HOME/.${product.word}"`;

/** Where pods of ours mount a claim. */
export const claimFolder = (claim: string): string => `/mnt/${product.word}/${claim}`;

/** A shell script that is run in a pod. */
export interface PodScript {
  /** What it does, for messages: `unpacking the agent`. */
  readonly what: string;
  /** For any POSIX shell; what it reads must end by itself, as with `head -c`. */
  readonly text: string;
  readonly args?: readonly string[];
  readonly input?: Readable;
  readonly timeoutMs: number;
}

/** Where a pod of a namespace is. */
export const podPath = (namespace: string, pod = ""): string =>
  `/api/v1/namespaces/${namespace}/pods${pod && `/${pod}`}`;

/** Begins a command in a pod. */
export function beginCommand(
  api: KubeApi,
  pod: string,
  command: readonly string[],
  signal?: AbortSignal,
): Promise<Channels> {
  const query = new URLSearchParams({
    container: containerName,
    stdin: "true",
    stdout: "true",
    stderr: "true",
  });
  for (const word of command) query.append("command", word);
  return api.channels(`${podPath(api.namespace, pod)}/exec?${query}`, signal);
}

/**
 * Runs a script in a pod to its end; answers what it printed, and throws what it complained of when it fails, with
 * `details.exitCode` unless the connection was lost.
 */
export const runIn = (
  api: KubeApi,
  pod: string,
  { what, text: script, args = [], input, timeoutMs }: PodScript,
  signal?: AbortSignal,
): Promise<string> =>
  limited(timeoutMs, signal, async (until) => {
    const channels = await beginCommand(api, pod, ["sh", "-c", script, "sh", ...args], until);
    const stream = commandStream(channels);
    const abort = () => stream.destroy();
    until.addEventListener("abort", abort, { once: true });
    try {
      // A script that ends without reading all of its input is not an error of its own.
      if (input !== undefined) pipeline(input, stream, { end: false }).catch(() => {});
      const [printed, { code, said }] = await Promise.all([
        text(stream).catch(() => ""),
        stream.ended,
      ]);
      until.throwIfAborted();
      if (code === 0) return printed;
      const why = said.trim().split("\n").at(-1);
      const details = code > 0 ? { exitCode: code } : {};
      fail("CloudError", `pod ${pod}: ${what} failed: ${why}`, details);
    } catch (error) {
      until.throwIfAborted();
      throw error instanceof AppError
        ? error
        : new AppError("CloudError", `pod ${pod}: ${what} failed`, {}, error);
    } finally {
      until.removeEventListener("abort", abort);
      input?.destroy();
      stream.destroy();
    }
  });
