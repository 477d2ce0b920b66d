import { addJob, setJob } from "../../agent/jobs/store.ts";
import { openJournal, transaction } from "../../agent/journal.ts";
import { JobSubmission } from "../../contract/agent-shapes.ts";
import { caller } from "./lab.ts";

/** Writes jobs that have ended into the journal of an agent that is away. */
const [folder = "", count] = process.argv.slice(2);
const journal = openJournal(folder);
transaction(journal, () => {
  for (let index = 0; index < Number(count); index += 1) {
    const id = addJob(journal, aSubmission(index), Date.now());
    setJob(journal, id, {
      ...{ status: "SUCCEEDED", verdict: "SUCCEEDED", exitCode: 0 },
      ...{ startedAt: Date.now(), endedAt: Date.now() },
    });
  }
});
process.disconnect();

function aSubmission(index: number): JobSubmission {
  return JobSubmission.parse({
    submissionId: `seeded-${index}`,
    name: `train-${index}`,
    userId: caller.id,
    userName: caller.name,
    setup: null,
    run: "python train.py",
    env: {},
    resources: "1x[H100:8]",
  });
}
