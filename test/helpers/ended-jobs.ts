import { randomBytes } from "node:crypto";
import type { Database } from "../../control/db/open.ts";
import { addJobs } from "../../control/jobs/submit-store.ts";

const newId = () => randomBytes(6).toString("hex");

/** Adds a thousand managed jobs of each name, straight to the database: all have succeeded. */
export async function addEndedJobs(
  db: Database,
  names: readonly string[],
  user: { readonly id: string; readonly name: string },
): Promise<void> {
  for (const name of names) await addThousand(db, name, user);
  const now = Date.now();
  const ended = { settled_at: now, ended_at: now, started_at: now, attempt: 1 } as const;
  await db
    .updateTable("job_tasks")
    .set({ status: "SUCCEEDED", ...ended })
    .execute();
  await db.updateTable("job_task_counts").set({ status: "SUCCEEDED" }).execute();
}

async function addThousand(
  db: Database,
  name: string,
  user: { readonly id: string; readonly name: string },
): Promise<void> {
  const copies = 1_000;
  const seal = { seal: (text: string) => Buffer.from(text), open: String } as never;
  const job = {
    ...{ name, execution: null, joined: null, pool: null, user, copies, requestId: newId() },
    ...{ workspace: "default", command: "outrigger jobs launch train.yaml" },
    ...{ priority: 0, submittedAt: Date.now(), reason: "submitted by a test" },
    document: { yaml: "run: python train.py\n", blobId: null },
    rooms: [],
  };
  const task = {
    ...{ name, resources: "H100:8", isPrimary: true, delayMs: 0 },
    ...{ poolId: null, share: null, leaseMs: null, calledBack: null },
  };
  await db.transaction().execute((tx) => addJobs(tx, seal, job, [task], newId));
}
