import type { Connection } from "../db/open.ts";
import type { AutostopSetting, Cluster } from "./schema.ts";
import { clusters } from "./store.ts";

/** What a launch on a cluster that exists changes. */
type Relaunch = Pick<Cluster, "taskYaml" | "command" | "ports" | "autostop" | "launchedAt">;

/** Writes down the latest launch of a cluster. */
export const setRelaunched = (db: Connection, id: string, launch: Relaunch): Promise<void> =>
  clusters.change(db, { id }, launch);

export const setAutostop = (
  db: Connection,
  id: string,
  autostop: AutostopSetting | null,
): Promise<void> => clusters.change(db, { id }, { autostop });

export const setCommand = (db: Connection, id: string, command: string): Promise<void> =>
  clusters.change(db, { id }, { command });
