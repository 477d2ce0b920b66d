import { setTimeout as sleep } from "node:timers/promises";
import { Agent, type Dispatcher } from "undici";
import { AppError, messageOf } from "../../../common/errors.ts";
import { linesOf } from "../lines.ts";
import { type Channels, openChannels, readStatus, type Status } from "./channels.ts";
import type { KubeContext } from "./kubeconfig.ts";

/** The API of one Kubernetes cluster, in the namespace of its context. Throws errors of ours, and never for a 404 that is read. */
export interface KubeApi {
  readonly context: string;
  readonly namespace: string;
  /** What is at a path, or undefined where nothing is. */
  read<T>(path: string, signal: AbortSignal): Promise<T | undefined>;
  /** Makes or changes an object; `undefined` for one that is gone, or where one of its name is there. */
  send<T>(method: Method, path: string, body: unknown, signal: AbortSignal): Promise<T | undefined>;
  /** What happens to the objects of a list, until the server ends that. */
  watch<T>(path: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>>;
  /** Opens the channels of a command or a port. */
  channels(path: string, signal?: AbortSignal): Promise<Channels>;
  close(): Promise<void>;
}

type Method = "POST" | "PATCH" | "DELETE";

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

const callMs = 10_000;
/** The server is asked again when it is busy, and no longer than this. */
const busyMs = 8_000;
/** Nothing is silent for longer, a watch least of all. */
const silentMs = 20_000;
/** Somebody else changed what a call is about at the same time, such as what is left of a quota. */
const conflictPauseMs = 100;
/** Adds to lists of what has a key, such as owners. */
const patchType = "application/strategic-merge-patch+json";

/** Connects to nothing yet. */
export function openKubeApi(context: KubeContext): KubeApi {
  const { name, server, namespace, tls } = context;
  const agent = new Agent({
    connect: { ...tls, timeout: 5_000 },
    allowH2: false,
    headersTimeout: callMs,
    bodyTimeout: silentMs,
  });

  async function headers(): Promise<Record<string, string>> {
    const authorization = await context.authorization();
    return { ...(authorization && { authorization: authorization.reveal() }) };
  }

  async function request(
    method: Dispatcher.HttpMethod,
    path: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const type = method === "PATCH" ? patchType : "application/json";
    for (let waitedMs = 0; ; ) {
      const answer = await agent
        .request({
          ...{ origin: server, path, method, signal },
          headers: { ...(await headers()), accept: "application/json", "content-type": type },
          body: body === undefined ? null : JSON.stringify(body),
        })
        .catch((error: unknown) => silent(name, error, signal));
      if (answer.statusCode !== 429 || waitedMs >= busyMs) return answer;
      await answer.body.dump();
      const pauseMs = 1_000 * (Number(answer.headers["retry-after"]) || 1);
      waitedMs += pauseMs;
      await sleep(pauseMs, undefined, { signal });
    }
  }

  /** The answer to a call that nobody else gets in the way of. */
  async function settle(
    method: Dispatcher.HttpMethod,
    path: string,
    body: unknown,
    signal: AbortSignal,
  ) {
    for (;;) {
      const answer = await request(method, path, body, signal);
      const { statusCode } = answer;
      const text = await answer.body.text();
      if (statusCode !== 409 || readStatus(text).reason !== "Conflict") return { statusCode, text };
      await sleep(conflictPauseMs, undefined, { signal });
    }
  }

  async function call<T>(
    method: Dispatcher.HttpMethod,
    path: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(callMs)]);
    const { statusCode, text } = await settle(method, path, body, limit).catch((error) => {
      signal.throwIfAborted();
      if (limit.aborted) throw silence(name, `it took more than ${callMs / 1_000} s`);
      return silent(name, error);
    });
    if (statusCode < 300) return JSON.parse(text) as T;
    const absent = method === "POST" ? 409 : 404;
    if (statusCode === absent && isAboutObject(text)) return undefined;
    throw refusalOf(name, statusCode, readStatus(text));
  }

  return {
    context: name,
    namespace,
    read: (path, signal) => call("GET", path, undefined, signal),
    send: call,
    async *watch(path, signal) {
      const { statusCode, body } = await request("GET", path, undefined, signal);
      // What it would tell begins before what the server remembers.
      if (statusCode === 410) return void (await body.dump());
      if (statusCode >= 300) throw refusalOf(name, statusCode, readStatus(await body.text()));
      for await (const line of linesOf(body)) if (line !== "") yield JSON.parse(line);
    },
    channels: async (path, signal) =>
      openChannels(
        `${server.replace(/^http/, "ws")}${path}`,
        { ...tls, headers: await headers() },
        signal,
      ).catch((error: unknown) => silent(name, error, signal)),
    close: () => agent.destroy(),
  };
}

const silence = (context: string, why: string, cause?: unknown): AppError =>
  new AppError(
    "CloudError",
    `the API server of Kubernetes context ${context} does not answer: ${why}`,
    {},
    cause,
  );

function silent(context: string, error: unknown, signal?: AbortSignal): never {
  signal?.throwIfAborted();
  if (error instanceof AppError) throw error;
  throw silence(context, messageOf(error), error);
}

/** A path that the server does not have is a mistake, and no missing object. */
const isAboutObject = (text: string): boolean =>
  ["NotFound", "AlreadyExists"].includes(readStatus(text).reason ?? "");

/** What a server refuses, as ours; `details.refusal` says whether another offer may do. */
function refusalOf(context: string, status: number, { reason, message }: Status): AppError {
  const said = `Kubernetes context ${context} refuses it: ${message ?? `status ${status}`}`;
  if (status === 401)
    return new AppError(
      "CloudError",
      `Kubernetes context ${context} does not know our credentials; log in again, or fix the kubeconfig`,
    );
  if (status === 403 && /exceeded quota/.test(message ?? ""))
    return new AppError("ResourcesUnavailableError", said, { refusal: "quota" });
  // What an admission webhook or a policy does not want is not wanted of this task alone.
  if ([400, 403, 422].includes(status)) return new AppError("ResourcesUnavailableError", said);
  return new AppError("CloudError", said, { status, reason });
}
