import { sizeOf } from "../common/growing-file.ts";
import { listGrowth } from "../common/log-growth.ts";
import { type Bound, toJsonLines } from "../common/server.ts";
import type { agentOperations } from "../contract/agent-api.ts";
import { growthAtMost, logOffsetHeader, logSizeHeader } from "../contract/job-log.ts";
import { jobMachine } from "../contract/statuses.ts";
import { putContainer } from "./containers/put.ts";
import { type Agent, keys } from "./context.ts";
import { streamEvents } from "./events.ts";
import { fetchContents } from "./files/fetch.ts";
import { offerAgain, offerFiles, takeContents } from "./files/files.ts";
import { listFiles, readFiles } from "./files/read.ts";
import { probeSource } from "./files/source.ts";
import { attachVolume } from "./files/volumes.ts";
import { logOf, logPathAround } from "./folders.ts";
import { openHookLog } from "./hooks/log-read.ts";
import { readIdle, setAutostop } from "./idle.ts";
import { cancelJob, getJob, getSpec, submitJob, toJob } from "./jobs/jobs.ts";
import { listPorts } from "./jobs/ports.ts";
import { appendPartLog } from "./jobs/rank-log.ts";
import { getOwnPart, listJobParts, putPart, reportPart } from "./jobs/ranks.ts";
import { listJobs } from "./jobs/store.ts";
import { listWaiting } from "./jobs/waiting.ts";
import { renewLease } from "./lease.ts";
import {
  beginLifecycle,
  beginPreemption,
  cancelLifecycle,
  confirmLogs,
  getLifecycle,
  listLifecycles,
  putHooks,
} from "./lifecycles/lifecycles.ts";
import { type OpenLog, openLogFile } from "./logs.ts";
import { putMount, readMounts } from "./mounts/mounts.ts";
import { configureNode, healthOf } from "./node.ts";
import { openShell } from "./shells.ts";

/** What the agent does for each row of its API. */
export function bindOperations(agent: Agent): Bound<typeof agentOperations> {
  return {
    health: () => healthOf(agent),
    configure(node) {
      configureNode(agent, node);
      agent.changes.notify(keys.work);
      return healthOf(agent);
    },
    renewLease: (renewal) => renewLease(agent, renewal),
    submit(submission) {
      const job = submitJob(agent, submission);
      agent.changes.notify(keys.work);
      return toJob(agent, job);
    },
    listJobs(filter) {
      const waiting = listWaiting(agent, filter.user === undefined ? filter.limit : undefined);
      return listJobs(agent.journal, filter, logPathAround(agent), waiting);
    },
    getJob: ({ id }) => toJob(agent, getJob(agent, id)),
    async cancelJob({ id, graceMs }) {
      return toJob(agent, await cancelJob(agent, id, { graceMs }));
    },
    async readLog({ id, ...range }, { signal }) {
      getJob(agent, id);
      const isOver = () => jobMachine.isFinal(getJob(agent, id).status);
      const log = logOf(agent, id);
      const opened = await openLogFile(agent, log, { ...range, isOver }, signal);
      return toStream(opened, { [logSizeHeader]: String(await sizeOf(log)) });
    },
    listLogGrowth({ id, after }) {
      getJob(agent, id);
      return listGrowth(logOf(agent, id), after, growthAtMost);
    },
    listPorts: ({ id }) => listPorts(agent, id),
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
    putHooks(set) {
      putHooks(agent, set);
      return healthOf(agent);
    },
    beginLifecycle: (order) => beginLifecycle(agent, order),
    listLifecycles: () => listLifecycles(agent),
    getLifecycle: ({ id }) => getLifecycle(agent, id),
    cancelLifecycle: ({ id }) => cancelLifecycle(agent, id),
    confirmLogs: ({ id }) => confirmLogs(agent, id),
    readHookLog: (range, { signal }) => toStream(openHookLog(agent, range, signal)),
    offerFiles: (offer, { body }) => offerFiles(agent, offer, body),
    offerAgain: (offer) => offerAgain(agent, offer),
    sendContents: (_input, { body }) => takeContents(agent, body),
    probeSource: (source, { signal }) => probeSource(source, signal),
    fetchContents: (_input, { body, signal }) => toJsonLines(fetchContents(agent, body, signal)),
    attachVolume: (order) => attachVolume(agent, order),
    listFiles: (source, { signal }) => listFiles(agent, source, signal),
    readFiles: (wanted, { signal }) => readFiles(agent, wanted, signal),
    openShell: async (_input, { body, signal }) => ({
      type: "application/octet-stream",
      content: await openShell(agent, body, signal),
    }),
    putMount: (order) => putMount(agent, order),
    listMounts: () => readMounts(agent),
    putContainer: (order, { signal }) => toJsonLines(putContainer(agent, order, signal)),
    preempt: (notice) => beginPreemption(agent, notice),
    events: ({ after }, { signal }) => ({
      type: "application/x-ndjson",
      content: streamEvents(agent, after, signal),
    }),
  };
}

const toStream = ({ offset, bytes }: OpenLog, headers: Record<string, string> = {}) => ({
  type: "application/octet-stream",
  headers: { [logOffsetHeader]: String(offset), ...headers },
  content: bytes,
});
