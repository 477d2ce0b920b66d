import { unlessAborted } from "../../../common/limited.ts";
import type { KubeApi } from "../../doors/kubernetes/api.ts";
import { podPath } from "../../doors/kubernetes/exec.ts";
import type { ListOf, Meta, Pod } from "./objects.ts";
import { selector } from "./pod.ts";

/** A watch ends after this, and a list comes first: a silent connection is noticed, and time passes for pods that are late. */
const watchSeconds = 10;
/** Pods that nobody asks for are not watched for longer. */
const unaskedMs = 60_000;

/** The pods of a namespace that have some labels. All who ask share one watch. */
export interface PodWatch {
  readonly api: KubeApi;
  /** All of them. */
  all(signal: AbortSignal): Promise<readonly Pod[]>;
  /** A pod as it is, then after each change and each list; undefined while there is none of that name. */
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

/** Asks the API server only once somebody asks. */
function openPodWatch(api: KubeApi, path: string): PodWatch {
  const pods = new Map<string, Pod>();
  let askedAt = 0;
  /** Resolves once they are known; undefined while nothing is watched. */
  let known: Promise<void> | undefined;
  let change = Promise.withResolvers<void>();

  function notify(error?: unknown): void {
    const { promise, resolve, reject } = change;
    change = Promise.withResolvers();
    promise.catch(() => {});
    if (error === undefined) resolve();
    else reject(error);
  }

  /** Whoever follows a pod is told why; who asks next begins anew. */
  function end(error?: unknown): void {
    known = undefined;
    notify(error);
  }

  function note(pod: Pod): void {
    const last = pods.get(pod.metadata.name);
    if (last === undefined || !isNewer(last.metadata, pod.metadata))
      pods.set(pod.metadata.name, pod);
  }

  function drop({ metadata }: Pick<Pod, "metadata">, at = metadata): void {
    const last = pods.get(metadata.name);
    if (last !== undefined && !isNewer(last.metadata, at)) pods.delete(metadata.name);
  }

  async function readAll(signal: AbortSignal): Promise<string> {
    const { items, metadata } = (await api.read<ListOf<Pod>>(path, signal)) ?? noPods;
    const names = new Set(items.map((pod) => pod.metadata.name));
    for (const pod of pods.values())
      if (!names.has(pod.metadata.name)) drop(pod, { ...pod.metadata, ...metadata });
    items.forEach(note);
    return metadata.resourceVersion;
  }

  async function run(begun: () => void): Promise<void> {
    const { signal } = new AbortController();
    do {
      const since = await readAll(signal);
      begun();
      notify();
      const query = `&watch=1&timeoutSeconds=${watchSeconds}&resourceVersion=${since}`;
      for await (const { type, object } of api.watch<Pod>(`${path}${query}`, signal)) {
        // The version may be too old by now.
        if (type === "ERROR") break;
        if (type === "DELETED") drop(object);
        else note(object);
        notify();
      }
    } while (performance.now() - askedAt < unaskedMs);
  }

  function begin(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // Whoever asked may have left.
    promise.catch(() => {});
    run(resolve).then(end, (error: unknown) => {
      end(error);
      reject(error);
    });
    return promise;
  }

  async function untilKnown(signal: AbortSignal): Promise<void> {
    askedAt = performance.now();
    known ??= begin();
    await unlessAborted(known, signal);
  }

  return {
    ...{ api, note },
    async all(signal) {
      await untilKnown(signal);
      return [...pods.values()];
    },
    async *follow(name, signal) {
      for (let seen: Pod | null | undefined = null; ; ) {
        await untilKnown(signal);
        const { promise: changed } = change;
        const last: Pod | null | undefined = seen;
        seen = pods.get(name);
        if (seen !== last) yield seen;
        await unlessAborted(changed, signal);
      }
    },
  };
}

const noPods: ListOf<Pod> = { items: [], metadata: { resourceVersion: "0" } };

/** Versions are decimal numbers that grow. Source: Kubernetes API concepts, resource versions. */
const isNewer = (a: Pick<Meta, "resourceVersion">, b: Pick<Meta, "resourceVersion">): boolean =>
  Number(a.resourceVersion ?? 0) > Number(b.resourceVersion ?? 0);
