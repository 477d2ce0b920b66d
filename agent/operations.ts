import type { agentOperations } from "../contract/agent-api.ts";
import { jobMachine } from "../contract/statuses.ts";
import { type Agent, keys } from "./context.ts";
import { streamEvents } from "./events.ts";
import { logOf, logPathAround } from "./folders.ts";
import { claimIdle, dropClaim, readIdle, setAutostop } from "./idle.ts";
import { listJobs } from "./job-store.ts";
import { cancelJob, getJob, getSpec, submitJob, toJob } from "./jobs.ts";
import { openLogFile } from "./logs.ts";
import { configureNode, healthOf } from "./node.ts";
import { appendPartLog, getOwnPart, listJobParts, putPart, reportPart } from "./ranks.ts";
import type { Bound } from "./server.ts";

/** What the agent does for each row of its API. */
export function bindOperations(agent: Agent): Bound<typeof agentOperations> {
  return {
    health: () => healthOf(agent),
    configure(node) {
      configureNode(agent, node);
      dropClaim(agent);
      agent.changes.notify(keys.work);
      return healthOf(agent);
    },
    submit(submission) {
      const job = submitJob(agent, submission);
      agent.changes.notify(keys.work);
      return toJob(agent, job);
    },
    listJobs: (filter) => listJobs(agent.journal, filter, logPathAround(agent)),
    getJob: ({ id }) => toJob(agent, getJob(agent, id)),
    async cancelJob({ id, graceMs }) {
      return toJob(agent, await cancelJob(agent, id, graceMs));
    },
    async readLog({ id, ...range }, { signal }) {
      getJob(agent, id);
      const isOver = () => jobMachine.isFinal(getJob(agent, id).status);
      return toStream(await openLogFile(agent, logOf(agent, id), { ...range, isOver }, signal));
    },
    listParts: ({ id }) => listJobParts(agent, id),
    getPartSpec: ({ id }) => getSpec(agent, id),
    reportPart: (report) => reportPart(agent, report),
    appendPartLog: (input, { body }) => appendPartLog(agent, input, body),
    putPart(input) {
      const part = putPart(agent, input);
      agent.changes.notify(keys.work);
      return part;
    },
    async readPartLog({ id, ...range }, { signal }) {
      getOwnPart(agent, id);
      const isOver = () => getOwnPart(agent, id).status === "ENDED";
      const whole = { ...range, tail: 0, isOver };
      return toStream(await openLogFile(agent, logOf(agent, id), whole, signal));
    },
    setAutostop: (autostop) => setAutostop(agent, autostop),
    getIdle: () => readIdle(agent),
    claimIdle: () => claimIdle(agent),
    events: ({ after }, { signal }) => ({
      type: "application/x-ndjson",
      content: streamEvents(agent, after, signal),
    }),
  };
}

const toStream = ({ offset, bytes }: Awaited<ReturnType<typeof openLogFile>>) => ({
  type: "application/octet-stream",
  headers: { "log-offset": String(offset) },
  content: bytes,
});
