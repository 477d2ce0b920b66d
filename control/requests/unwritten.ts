import type { Ending, StoredRequest } from "./schema.ts";
import type { NewRequest } from "./store.ts";

/**
 * Requests that only read, and could not be written down because the disk is full. They live in
 * memory, end with control, and are dropped some minutes after their end.
 */
export interface Unwritten {
  add(request: NewRequest): void;
  /** What is known of a request; undefined for one that is not here. */
  find(id: string): StoredRequest | undefined;
  /** What is needed to work on a request that has not ended. */
  findWork(id: string): Work | undefined;
  /** Ends a request that is here; false for any other. */
  end(id: string, ending: Ending, at: number): boolean;
  /** Ends a request in memory whose row cannot be changed now. */
  keepEnd(request: StoredRequest, ending: Ending, at: number): void;
  /** Those that have ended, with how. */
  listEnded(): readonly Ended[];
  /** Forgets what ended before an instant. */
  drop(before: number): void;
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

interface Ended {
  readonly id: string;
  readonly ending: Ending;
  readonly at: number;
}

interface Entry {
  readonly request: StoredRequest;
  readonly work?: Work;
  readonly ended?: Ended;
}

/** What is read meanwhile is small, but the disk may stay full for long. */
const mostEntries = 2_000;

/** Opens an empty memory of requests. */
export function openUnwritten(): Unwritten {
  const entries = new Map<string, Entry>();

  function put(id: string, entry: Entry): void {
    entries.delete(id);
    entries.set(id, entry);
    const [oldest] = entries.keys();
    if (entries.size > mostEntries && oldest !== undefined) entries.delete(oldest);
  }

  const keepEnd = (request: StoredRequest, ending: Ending, at: number): void =>
    put(request.id, {
      request: withEnding(request, ending, at),
      ended: { id: request.id, ending, at },
    });

  return {
    add: (request) => put(request.id, { request: toStored(request), work: toWork(request) }),
    find: (id) => entries.get(id)?.request,
    findWork: (id) => entries.get(id)?.work,
    end(id, ending, at) {
      const entry = entries.get(id);
      if (entry !== undefined && entry.ended === undefined) keepEnd(entry.request, ending, at);
      return entry !== undefined;
    },
    keepEnd,
    listEnded: () => [...entries.values()].flatMap(({ ended }) => ended ?? []),
    drop(before) {
      for (const [id, { ended }] of entries)
        if (ended !== undefined && ended.at < before) entries.delete(id);
    },
  };
}

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
