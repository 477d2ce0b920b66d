import { toAppError } from "../../common/errors.ts";
import type { Task } from "../../contract/task.ts";
import { redactSecrets } from "../../contract/task.ts";
import type { Ground } from "../ground.ts";
import { readTask } from "../task.ts";
import type { JobTask } from "./schema.ts";
import { readDocumentOf } from "./store.ts";

/** A task readable: it holds secrets. */
export interface OpenTask {
  readonly task: Task;
  /** As it may be shown. */
  readonly shown: string;
  readonly blobId: string | null;
}

/** What a task runs; a text where this version cannot read it any more says why. */
export async function openTask(ctx: Ground, { job }: JobTask): Promise<OpenTask | string> {
  const { yaml, blobId } = await readDocumentOf(ctx.db, ctx.seal, job.id);
  try {
    return { task: readTask(yaml, "jobs.launch"), shown: redactSecrets(yaml), blobId };
  } catch (error) {
    return toAppError(error).message;
  }
}
