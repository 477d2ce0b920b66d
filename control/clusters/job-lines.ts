import { count } from "../../common/count.ts";
import { product } from "../../common/product.ts";
import type { Job } from "../../contract/agent-shapes.ts";
import type { Call } from "../bind.ts";
import { controlLine } from "../wire/control-lines.ts";
import { hasEnded } from "./jobs.ts";

/** A job's log as it is read. */
export interface JobLog {
  readonly nodes: number;
  /** Whether the log is read from its beginning. */
  readonly isWhole: boolean;
  readonly chunks: AsyncIterable<Buffer>;
  /** What the job waits for, and again when that changes, until it begins; once where its log is not followed. */
  waits(): AsyncIterable<string>;
  /** The job once it has begun or ended; at once where its log is not followed. */
  begun(): Promise<Job | undefined>;
  /** The job as it is when its log has been read. */
  ended(): Promise<Job | undefined>;
}

/**
 * The log of a job between the lines that existing clients and scripts wait for. Source: the reference's
 * wording of "Job started" and "Job finished". Our own client says so in its own words, and is told
 * what the job waits for beside the log: in control lines, which older ones of ours leave out.
 */
export const withLines = ({ program }: Pick<Call, "program">, log: JobLog) =>
  program === product.word ? noted(log) : framed(log);

async function* noted({ waits, chunks }: JobLog): AsyncGenerator<Buffer> {
  for await (const text of waits()) yield Buffer.from(controlLine("rich_update", text));
  yield* chunks;
}

async function* framed({ nodes, isWhole, chunks, begun, ended }: JobLog): AsyncGenerator<Buffer> {
  if (isWhole) yield Buffer.from(`├── Waiting for task resources on ${count(nodes, "node")}.\n`);
  const hasBegun = ((await begun())?.startedAt ?? null) !== null;
  if (isWhole && hasBegun) yield Buffer.from(started);
  let last: number | undefined;
  for await (const chunk of chunks) {
    last = chunk.at(-1) ?? last;
    yield chunk;
  }
  const job = await ended();
  if (job === undefined || !hasEnded(job)) return;
  yield Buffer.from(`${last === undefined || last === newline ? "" : "\n"}${endingOf(job)}`);
}

const newline = 10;
const started =
  "└── Job started. Streaming logs... (Ctrl-C to exit log streaming; job will not be killed)\n";

function endingOf({ id, status, reason }: Job): string {
  const hasSucceeded = status === "SUCCEEDED";
  const why = hasSucceeded || reason === null ? "" : `ERROR: Job ${id}: ${reason}\n`;
  return `${why}${hasSucceeded ? "✓" : "✗"} Job finished (status: ${status}).\n`;
}
