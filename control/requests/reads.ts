import type { Ending, StoredRequest } from "./schema.ts";
import type { NewRequest } from "./store.ts";

/**
 * Requests that only read. They live in memory and are forgotten some minutes after their end: nothing
 * of them is worth a write, their results may hold what must not reach the disk, and they are answered
 * while the disk is full. A control plane that starts anew does not know them; they are asked again.
 */
export interface Reads {
  add(request: NewRequest): void;
  /** What is known of a request; undefined for one that is not here. */
  find(id: string): StoredRequest | undefined;
  /** All that are here, newest first. */
  list(): StoredRequest[];
  /** What is needed to work on a request that has not ended. */
  findWork(id: string): Work | undefined;
  /** Ends a request; false when it had ended before. Undefined for one that is not here. */
  end(id: string, ending: Ending, at: number): boolean | undefined;
  /** Forgets what ended before an instant; answers the ids. */
  drop(before: number): string[];
}

interface Work {
  readonly id: string;
  readonly name: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly client_api: number | null;
  readonly input: Uint8Array;
  readonly progress: null;
}

interface Entry {
  readonly request: StoredRequest;
  readonly work?: Work;
}

/** Of results that are there to be fetched; the oldest go first. */
const endedAtMost = 2_000;
const charactersAtMost = 64 * 1024 * 1024;

/** Opens an empty memory of requests. */
export function openReads(): Reads {
  const open = new Map<string, Entry>();
  const ended = new Map<string, StoredRequest>();
  let characters = 0;

  function forget(id: string, request: StoredRequest): void {
    ended.delete(id);
    characters -= sizeOf(request);
  }

  function makeRoom(): void {
    for (const [id, request] of ended) {
      if (ended.size <= endedAtMost && characters <= charactersAtMost) return;
      if (ended.size > 1) forget(id, request);
    }
  }

  return {
    add: (request) =>
      void open.set(request.id, { request: toStored(request), work: toWork(request) }),
    find: (id) => open.get(id)?.request ?? ended.get(id),
    list: () =>
      [...[...open.values()].map(({ request }) => request), ...ended.values()].sort(
        (a, b) => b.createdAt - a.createdAt,
      ),
    findWork: (id) => open.get(id)?.work,
    end(id, ending, at) {
      const entry = open.get(id);
      if (entry === undefined) return ended.has(id) ? false : undefined;
      const request = withEnding(entry.request, ending, at);
      open.delete(id);
      ended.set(id, request);
      characters += sizeOf(request);
      makeRoom();
      return true;
    },
    drop(before) {
      const old = [...ended].filter(([, { finishedAt }]) => (finishedAt ?? 0) < before);
      for (const [id, request] of old) forget(id, request);
      return old.map(([id]) => id);
    },
  };
}

const sizeOf = ({ returnValue }: StoredRequest): number => returnValue?.length ?? 0;

const toWork = (request: NewRequest): Work => ({
  id: request.id,
  name: request.name,
  user_id: request.userId,
  user_name: request.userName,
  client_api: request.clientApi,
  input: request.input,
  progress: null,
});

const toStored = (request: NewRequest): StoredRequest => ({
  id: request.id,
  name: request.name,
  status: "RUNNING",
  queue: request.queue,
  user: { id: request.userId, name: request.userName },
  clusterName: request.clusterName,
  clientApi: request.clientApi,
  statusNote: null,
  returnValue: null,
  failure: null,
  createdAt: request.createdAt,
  finishedAt: null,
});

const withEnding = (request: StoredRequest, ending: Ending, at: number): StoredRequest => ({
  ...request,
  status: ending.status,
  statusNote: null,
  returnValue: ending.status === "SUCCEEDED" ? ending.returnValue : null,
  failure: ending.status === "FAILED" ? ending.failure : null,
  finishedAt: at,
});
