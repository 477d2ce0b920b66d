import { fail, toAppError } from "../../common/errors.ts";
import type { Task } from "../../contract/task.ts";
import type { Ground } from "../ground.ts";
import { readDocument } from "../task.ts";
import type { JobTask } from "./schema.ts";
import { readDocumentOf } from "./submit-store.ts";

/** A task readable: it holds secrets. */
export interface OpenTask {
  readonly task: Task;
  /** What it was read from, secrets included. */
  readonly yaml: string;
  readonly blobId: string | null;
}

/** What a task runs; a text where this version cannot read it any more says why. */
export async function openTask(ctx: Ground, { job, number }: JobTask): Promise<OpenTask | string> {
  const { yaml, blobId } = await readDocumentOf(ctx.db, ctx.seal, job.id);
  try {
    const task = readDocument(yaml).tasks[number] ?? fail("ValueError", "it is not there");
    return { task: job.joined === null ? task : { ...task, isInGroup: true }, yaml, blobId };
  } catch (error) {
    return toAppError(error).message;
  }
}
