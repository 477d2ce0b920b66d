import type { Context } from "../context.ts";
import { openSilence } from "../doors/silence.ts";
import { attemptLogOf } from "./folders.ts";
import { betweenReadsMs, catchUp, copyToEnd, type Growing } from "./log-reads.ts";
import { copyRest, noteRest } from "./log-rests.ts";
import { openWorks } from "./log-works.ts";
import type { JobLogs, JobTask } from "./schema.ts";

const keyOf = (clusterId: string | null, jobId: number | null): string => `${clusterId}/${jobId}`;

/** Copies nothing yet. */
export function openJobLogs(world: () => Context): JobLogs {
  const growing = new Map<string, Growing>();
  const works = openWorks();

  function logOf({ id: taskId, attempt, clusterId, clusterJob }: JobTask): Growing {
    const file = attemptLogOf(world(), taskId, attempt);
    const of = { clusterId: clusterId ?? "", jobId: clusterJob ?? 0 };
    return growing.get(keyOf(clusterId, clusterJob)) ?? { taskId, file, ...of, isBehind: false };
  }

  /** Has a log read to its present end, unless that is under way; the next read comes after a pause. */
  function read(log: Growing, pauseMs: number): void {
    log.isBehind = true;
    works.read(log.file, async (signal) => {
      if (!(await catchUp(world(), log, pauseMs, signal))) follow(log);
    });
  }

  function follow(log: Growing): Disposable {
    return works.follow(
      log.file,
      (signal) => copyToEnd(world(), log, { isOver: false, heard: () => {}, signal }),
      () => growing.has(keyOf(log.clusterId, log.jobId)) && read(log, 0),
    );
  }

  return {
    keep(task) {
      const log = logOf(task);
      growing.set(keyOf(task.clusterId, task.clusterJob), log);
      // The first lines come just after a job has begun.
      read(log, 0);
    },
    grew({ id }, jobId) {
      const log = growing.get(keyOf(id, jobId));
      if (log !== undefined) read(log, betweenReadsMs);
    },
    follow: (task) => follow(logOf(task)),
    async whole(task, { silentMs, isOver }, signal) {
      const log = logOf(task);
      growing.set(keyOf(task.clusterId, task.clusterJob), log);
      using silence = openSilence(silentMs, signal);
      // A connection that was cut may stay silent for long although its node answers by now.
      await works.whole(log.file, (ended) => {
        const until = AbortSignal.any([ended, silence.signal]);
        return copyToEnd(world(), log, { isOver, heard: silence.heard, signal: until });
      });
    },
    async drop(task) {
      const log = logOf(task);
      growing.delete(keyOf(task.clusterId, task.clusterJob));
      await works.end(log.file);
      if (task.clusterJob !== null) await noteRest(world(), log);
    },
    rest: (clusterId, head, signal) => copyRest(world(), clusterId, head, signal),
    stop: works.endAll,
  };
}
