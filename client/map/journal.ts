import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { fail, ifPossible } from "../../common/errors.ts";
import type { Inputs } from "./inputs.ts";
import { numbersOf, type Range } from "./ranges.ts";

/** A managed job that has some of the inputs. */
export interface Chunk {
  readonly job: number;
  readonly ranges: readonly Range[];
}

/** What is known of one input: its result, or why it failed in a job. */
type Finding =
  | { readonly index: number; readonly result: unknown }
  | { readonly index: number; readonly error: string; readonly job: number };

/** A line of the file: what it is about, a launch, and what came of it. */
type Entry =
  | ({ readonly map: string } & Inputs)
  | { readonly launch: string; readonly chunks: readonly (readonly Range[])[] }
  | { readonly submitted: string; readonly jobs: readonly number[] }
  | { readonly dropped: string }
  | { readonly ended: number }
  | Finding;

interface Place {
  readonly offset: number;
  readonly length: number;
}

/**
 * What became of inputs so far, kept in a file, so that a map goes on where it was interrupted. Opens the file or
 * begins it; throws `ValueError` for one of other inputs.
 */
export function openJournal(file: string, inputs: Inputs, { newTag, retries }: JournalOptions) {
  const descriptor = openSync(file, "a+", 0o600);
  const results = new Map<number, Place>();
  const failures = new Map<number, Place>();
  const failedIn = new Map<number, Set<number>>();
  const launches = new Map<string, readonly (readonly Range[])[]>();
  const open = new Map<number, Chunk>();
  let tag = "";
  let size = 0;
  let hasJobs = false;

  function take(entry: Entry, place: Place): void {
    if ("map" in entry) {
      if (entry.digest !== inputs.digest)
        fail("ValueError", `${file} belongs to other inputs; remove it, or name other results`);
      tag = entry.map;
    } else if ("launch" in entry) launches.set(entry.launch, entry.chunks);
    else if ("submitted" in entry) {
      hasJobs = true;
      for (const [rank, ranges] of (launches.get(entry.submitted) ?? []).entries()) {
        const job = entry.jobs[rank];
        if (job !== undefined) open.set(job, { job, ranges });
      }
      launches.delete(entry.submitted);
    } else if ("dropped" in entry) launches.delete(entry.dropped);
    else if ("ended" in entry) open.delete(entry.ended);
    else if ("result" in entry) results.set(entry.index, place);
    else {
      failures.set(entry.index, place);
      const jobs = failedIn.get(entry.index) ?? new Set();
      failedIn.set(entry.index, jobs.add(entry.job));
    }
  }

  const add = (entry: Entry): void => addLine(entry, JSON.stringify(entry));

  function addLine(entry: Entry, text: string): void {
    const line = Buffer.from(`${text}\n`);
    writeSync(descriptor, line);
    take(entry, { offset: size, length: line.length });
    size += line.length;
  }

  function read({ offset, length }: Place): Buffer {
    const bytes = Buffer.alloc(length);
    readSync(descriptor, bytes, 0, length, offset);
    return bytes;
  }

  const hasFailed = (index: number) => (failedIn.get(index)?.size ?? 0) > retries;
  const toTry = (of: readonly number[]) =>
    of.filter((index) => !results.has(index) && !hasFailed(index));

  for (const line of linesOf(descriptor)) {
    take(JSON.parse(line.toString()), { offset: size, length: line.length });
    size += line.length;
  }
  // What was written in part, as the client was killed.
  ftruncateSync(descriptor, size);
  if (tag === "") add({ map: newTag(), ...inputs });

  return {
    ...{ tag, digest: inputs.digest },
    add,
    /** Notes that an input failed in a job, once for each job. */
    fail(index: number, job: number, error: string): void {
      if (!results.has(index) && !failedIn.get(index)?.has(job)) add({ index, error, job });
    },
    /** Notes the result of an input; the first one is kept. */
    succeed(index: number, result: string): void {
      if (results.has(index)) return;
      addLine({ index, result }, `{"index":${index},"result":${toJson(result)}}`);
    },
    /** Jobs that have not ended, as far as is known. */
    jobs: (): Chunk[] => [...open.values()],
    /** Launches of which it is not known which jobs they made. */
    launches: () => [...launches],
    /** The inputs that no job has, and that are to be tried. */
    pending(): number[] {
      const taken = new Set([...open.values()].flatMap(({ ranges }) => numbersOf(ranges)));
      return toTry(all(inputs)).filter((index) => !taken.has(index));
    },
    /** Those of some inputs that have neither a result nor failed for good. */
    toTry,
    /** Those of some inputs without a result, and without a failure in a job. */
    missing: (of: readonly number[], job: number) =>
      of.filter((index) => !results.has(index) && !failedIn.get(index)?.has(job)),
    counts: () => ({
      inputs: inputs.count,
      succeeded: results.size,
      failed: [...failedIn.keys()].filter((index) => !results.has(index) && hasFailed(index))
        .length,
    }),
    /** What is known of each input, one line each, in their order. */
    *findings(): Generator<Buffer> {
      for (const index of all(inputs)) {
        const place = results.get(index) ?? failures.get(index);
        if (place !== undefined) yield read(place);
      }
    },
    remove: () => rmSync(file),
    /** Leaves no file where no job was launched. */
    close(): void {
      closeSync(descriptor);
      if (!hasJobs && launches.size === 0) rmSync(file);
    },
  };
}

export type Journal = ReturnType<typeof openJournal>;

interface JournalOptions {
  /** Makes the tag of a map that begins. */
  readonly newTag: () => string;
  /** How often an input is tried again that failed. */
  readonly retries: number;
}

/** A result that is JSON as it is, in one line; null for an empty one, and any other as a text. */
function toJson(result: string): string {
  const json = result.trim().replace(/[\r\n]+/g, " ");
  if (json === "") return "null";
  const isJson = ifPossible(() => JSON.parse(json)) !== undefined;
  return isJson ? json : JSON.stringify(result.replace(/\r?\n$/, ""));
}

const all = ({ count }: Inputs): number[] => Array.from({ length: count }, (_, index) => index);

const stretchBytes = 2 ** 20;

/** The whole lines of a file, each with its end. */
function* linesOf(descriptor: number): Generator<Buffer> {
  const { size } = fstatSync(descriptor);
  let rest: Buffer = Buffer.alloc(0);
  for (let at = 0; at < size; at += stretchBytes) {
    const bytes = Buffer.alloc(Math.min(stretchBytes, size - at));
    readSync(descriptor, bytes, 0, bytes.length, at);
    rest = Buffer.concat([rest, bytes]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end + 1);
      rest = rest.subarray(end + 1);
    }
  }
}
