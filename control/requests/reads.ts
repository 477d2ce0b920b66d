import type { Asked, EndedRequest, Ending, StoredRequest } from "./schema.ts";
import type { NewRequest } from "./store.ts";

/**
 * Requests that only read. They live in memory and are forgotten some minutes after their end: nothing
 * of them is worth a write, their results may hold what must not reach the disk, and they are answered
 * while the disk is full. A control plane that starts anew does not know them; they are asked again.
 */
export interface Reads {
  add(request: Omit<NewRequest, "input">, asked: Asked): void;
  /** What is known of a request; undefined for one that is not here. */
  find(id: string): StoredRequest | undefined;
  /** The same of one that has ended, with its result. */
  findEnded(id: string): EndedRequest | undefined;
  /** All that are here. */
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
  readonly workspace: string;
  readonly credential: string;
  readonly asked: Asked;
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
  const ended = new Map<string, EndedRequest>();
  let characters = 0;

  function forget(id: string, request: EndedRequest): void {
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
    add: (request, asked) =>
      void open.set(request.id, { request: toStored(request), work: toWork(request, asked) }),
    find: (id) => open.get(id)?.request ?? ended.get(id),
    findEnded: (id) => ended.get(id),
    list: () => [...[...open.values()].map(({ request }) => request), ...ended.values()],
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

const sizeOf = ({ returnValue }: EndedRequest): number => returnValue?.length ?? 0;

const toWork = (request: Omit<NewRequest, "input">, asked: Asked): Work => ({
  id: request.id,
  name: request.name,
  user_id: request.userId,
  user_name: request.userName,
  client_api: request.clientApi,
  workspace: request.workspace,
  credential: request.credential,
  asked,
  progress: null,
});

const toStored = (request: Omit<NewRequest, "input">): StoredRequest => ({
  id: request.id,
  name: request.name,
  status: "RUNNING",
  queue: request.queue,
  user: { id: request.userId, name: request.userName },
  clusterName: request.clusterName,
  clientApi: request.clientApi,
  workspace: request.workspace,
  statusNote: null,
  createdAt: request.createdAt,
  finishedAt: null,
});

const withEnding = (request: StoredRequest, ending: Ending, at: number): EndedRequest => ({
  ...request,
  status: ending.status,
  statusNote: null,
  returnValue: ending.status === "SUCCEEDED" ? ending.returnValue : null,
  failure: ending.status === "FAILED" ? ending.failure : null,
  finishedAt: at,
});
