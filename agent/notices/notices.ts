import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { waitMs } from "../../common/loop.ts";
import { type Agent, keys } from "../context.ts";
import { findSetting, putSetting } from "../journal.ts";
import { beginPreemption } from "../lifecycles/lifecycles.ts";
import { awsNotices } from "./aws.ts";
import { azureNotices } from "./azure.ts";
import { type Cloud, cloudOf, readDmi } from "./cloud.ts";
import { readNoticeFile } from "./file.ts";
import { gcpNotices } from "./gcp.ts";
import type { Notice, NoticeSource } from "./notice.ts";

const sources = { aws: awsNotices, gcp: gcpNotices, azure: azureNotices };

/** An endpoint that is away for longer is still asked this often: a notice may be half a minute. */
const longestPauseMs = 10_000;
/** What fails so often in a row is worth a line in the log. */
const failuresToTell = 3;
const fileEveryMs = 5_000;
/** A deadline that is over, or nearly, is only when the node may go: hooks are tried all the same. */
const leastNoticeMs = 10_000;

/** Begins a preemption at each notice to this node, for as long as the agent lives. Never throws. */
export function watchNotices(agent: Agent): void {
  const { notices, noticeFile } = agent.config;
  const cloud = notices === "auto" ? cloudOf(readDmi()) : notices;
  if (cloud !== "none") watchEndpoint(agent, cloud, sources[cloud](agent.config, agent.now));
  if (noticeFile !== null) watchFile(agent, noticeFile);
}

/** When a node goes by a notice that is read now, in epoch milliseconds. */
export const deadlineOf = (notice: Notice, now: number, graceMs: number): number =>
  Math.round(Math.max(notice.deadlineAt ?? now + graceMs, now + leastNoticeMs));

/** Takes what a source says now: a notice that was taken before is not taken again. */
export function takeNotice(agent: Agent, source: string, notice: Notice | undefined): void {
  const { journal, log, config } = agent;
  const setting = `notice from ${source}`;
  const taken = findSetting<string | null>(journal, setting) ?? null;
  if ((notice?.id ?? null) === taken) return;
  if (notice !== undefined) {
    const deadlineAt = deadlineOf(notice, agent.now(), config.graceMs);
    log.warn({ ...notice, source, deadlineAt }, "the node is taken away");
    beginPreemption(agent, { because: notice.because, deadlineAt });
  }
  putSetting(journal, setting, notice?.id ?? null);
}

async function watchEndpoint(agent: Agent, cloud: Cloud, source: NoticeSource): Promise<void> {
  const { log, stopping: signal } = agent;
  for (let failures = 0; !signal.aborted; ) {
    try {
      takeNotice(agent, cloud, await source.look(signal));
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const level = failures === failuresToTell ? "warn" : "debug";
      log[level]({ cloud, error }, "the metadata endpoint does not answer; trying again");
    }
    const pauseMs = Math.min(waitMs(source.everyMs, failures), longestPauseMs);
    await sleep(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/** Looks when the file's folder changes, and now and then in case nobody says so. */
async function watchFile(agent: Agent, path: string): Promise<void> {
  const { changes, log, stopping } = agent;
  const key = keys.log(dirname(path));
  const timer = setInterval(() => changes.notify(key), fileEveryMs);
  let isTold = !isWatched(agent, dirname(path));
  const look = async (): Promise<undefined> => {
    try {
      takeNotice(agent, "file", readNoticeFile(path, agent.now()));
    } catch (error) {
      if (!isTold) log.warn({ path, error }, "the notice file cannot be read; trying again");
      isTold = true;
    }
  };
  await changes.until<never>(key, look, stopping).catch(() => clearInterval(timer));
}

function isWatched({ watches, log }: Agent, folder: string): boolean {
  try {
    watches.add(folder);
    return true;
  } catch (error) {
    log.warn({ folder, error }, "the folder of the notice file cannot be watched; polling it");
    return false;
  }
}
