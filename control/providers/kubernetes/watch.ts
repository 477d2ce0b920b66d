import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../../common/errors.ts";
import { unlessAborted } from "../../../common/limited.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { podPath } from "../../doors/kubernetes/exec.ts";
import type { ListOf, Meta, Pod } from "./objects.ts";
import { selector } from "./pod.ts";

/** A watch ends after this, and another begins: a silent connection is noticed, and time passes for pods that are late. */
const watchSeconds = 10;
/** Pods that nobody asks for are not watched for longer. */
const unaskedMs = 60_000;
/** Watches that end sooner, one after the other, are begun at longer and longer intervals. */
const shortMs = 1_000;
const longestPauseMs = 15_000;

/** The pods of a namespace that have some labels. All who ask share one watch. */
export interface PodWatch {
  readonly api: KubeApi;
  /** All of them. */
  all(signal: AbortSignal): Promise<readonly Pod[]>;
  /** A pod as it is, then after each change and whenever a watch begins; undefined while there is none of that name. */
  follow(name: string, signal: AbortSignal): AsyncGenerator<Pod | undefined>;
  /** Takes in what the API server has answered, which the watch may tell later. */
  note(pod: Pod): void;
}

type Labels = Readonly<Record<string, string>>;

const opened = new WeakMap<KubeApi, Map<string, PodWatch>>();

/** The pods that have these labels, in the namespace of a context. */
export function podsWith(api: KubeApi, labels: Labels): PodWatch {
  const watches = opened.get(api) ?? new Map<string, PodWatch>();
  const path = `${podPath(api.namespace)}?${selector(labels)}`;
  const watch = watches.get(path) ?? openPodWatch(api, path);
  opened.set(api, watches.set(path, watch));
  return watch;
}

/** What is known of pods, and who waits for news of them. */
interface Known {
  readonly api: KubeApi;
  readonly path: string;
  readonly pods: Map<string, Pod>;
  askedAt: number;
  /** Resolves once the pods are known; undefined while they are not watched. */
  begun: Promise<void> | undefined;
  /** Settles with the next news. */
  change: PromiseWithResolvers<void>;
  /** How many watches were begun. */
  watches: number;
  /** Has the newest version that a list or a watch told. */
  newest: Pick<Meta, "resourceVersion">;
}

/** Asks the API server only once somebody asks. */
function openPodWatch(api: KubeApi, path: string): PodWatch {
  const known: Known = {
    ...{ api, path, pods: new Map(), askedAt: 0, begun: undefined },
    ...{ change: Promise.withResolvers<void>(), watches: 0, newest: {} },
  };
  return {
    api,
    note: (pod) => note(known, pod),
    async all(signal) {
      await untilBegun(known, signal);
      return [...known.pods.values()];
    },
    follow: (name, signal) => follow(known, name, signal),
  };
}

async function* follow(
  known: Known,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Pod | undefined> {
  let last: Pod | null | undefined = null;
  for (let watches = 0; ; ) {
    await untilBegun(known, signal);
    const { promise: changed } = known.change;
    const seen = known.pods.get(name);
    const isNews = seen !== last || watches !== known.watches;
    [last, watches] = [seen, known.watches];
    if (isNews) yield seen;
    await unlessAborted(changed, signal);
  }
}

async function untilBegun(known: Known, signal: AbortSignal): Promise<void> {
  known.askedAt = performance.now();
  known.begun ??= begin(known);
  await unlessAborted(known.begun, signal);
}

/** Followers of a pod are told why it ended; the next one who asks begins anew. */
function begin(known: Known): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Those who asked may have left.
  promise.catch(() => {});
  const end = (error?: unknown) => {
    known.begun = undefined;
    notify(known, error);
  };
  run(known, resolve).then(end, (error: unknown) => {
    end(error);
    reject(error);
  });
  return promise;
}

/** Watches for as long as anybody asks, and lists only where a watch cannot be resumed. */
async function run(known: Known, begun: () => void): Promise<void> {
  const { signal } = new AbortController();
  let since: string | undefined;
  let short = 0;
  do {
    // One version that is too old is no trouble; one after the other is.
    const pauseMs = Math.min(shortMs * 2 ** (short - 2), longestPauseMs);
    if (short > 1) await sleep(pauseMs, undefined, { ref: false });
    since ??= await readAll(known, signal);
    const begunAt = performance.now();
    known.watches += 1;
    begun();
    notify(known);
    since = await watch(known, since, signal);
    short = performance.now() - begunAt < shortMs ? short + 1 : 0;
  } while (performance.now() - known.askedAt < unaskedMs);
}

async function readAll(known: Known, signal: AbortSignal): Promise<string> {
  const { api, path, pods } = known;
  const { items, metadata } = (await api.read<ListOf<Pod>>(path, signal)) ?? noPods;
  // Versions go back where the API server was restored from a backup.
  if (isNewer(known.newest, metadata)) pods.clear();
  known.newest = metadata;
  const names = new Set(items.map((pod) => pod.metadata.name));
  for (const pod of pods.values())
    if (!names.has(pod.metadata.name)) drop(known, { ...pod.metadata, ...metadata });
  for (const pod of items) note(known, pod);
  return metadata.resourceVersion;
}

/** Takes in what happens until the server ends that; answers from where to go on, undefined where a list must tell. */
async function watch(
  known: Known,
  since: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const query = `&watch=1&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${since}`;
  let last: string | undefined;
  try {
    for await (const { type, object } of known.api.watch<Pod>(`${known.path}${query}`, signal)) {
      // The version may be too old by now.
      if (type === "ERROR") return undefined;
      known.newest = object.metadata;
      last = object.metadata.resourceVersion;
      if (type === "BOOKMARK") continue;
      if (type === "DELETED") drop(known, object.metadata);
      else note(known, object);
      notify(known);
    }
    return last;
  } catch (error) {
    // The server refuses it; a connection that breaks is made again.
    if (error instanceof AppError) throw error;
    return undefined;
  }
}

function notify(known: Known, error?: unknown): void {
  const { promise, resolve, reject } = known.change;
  known.change = Promise.withResolvers();
  promise.catch(() => {});
  if (error === undefined) resolve();
  else reject(error);
}

function note({ pods }: Known, pod: Pod): void {
  const last = pods.get(pod.metadata.name);
  if (last === undefined || !isNewer(last.metadata, pod.metadata)) pods.set(pod.metadata.name, pod);
}

/** Forgets a pod that was gone by this version. */
function drop({ pods }: Known, gone: Pod["metadata"]): void {
  const last = pods.get(gone.name);
  if (last !== undefined && !isNewer(last.metadata, gone)) pods.delete(gone.name);
}

const noPods: ListOf<Pod> = { items: [], metadata: { resourceVersion: "0" } };

/** Versions are decimal numbers that grow. Source: Kubernetes API concepts, resource versions. */
const isNewer = (a: Pick<Meta, "resourceVersion">, b: Pick<Meta, "resourceVersion">): boolean =>
  Number(a.resourceVersion ?? 0) > Number(b.resourceVersion ?? 0);
