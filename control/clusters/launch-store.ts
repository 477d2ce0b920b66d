import type { Connection } from "../db/open.ts";
import type { AutostopSetting } from "./schema.ts";

/** What a launch on a cluster that exists changes. */
export interface Relaunch {
  taskYaml: string;
  command: string;
  ports: string[];
  autostop: AutostopSetting | null;
  launchedAt: number;
}

/** Writes down the latest launch of a cluster. */
export async function setRelaunched(db: Connection, id: string, launch: Relaunch) {
  await db
    .updateTable("clusters")
    .set({
      task_yaml: launch.taskYaml,
      command: launch.command,
      ports: JSON.stringify(launch.ports),
      autostop: launch.autostop && JSON.stringify(launch.autostop),
      launched_at: launch.launchedAt,
    })
    .where("id", "=", id)
    .execute();
}

export async function setAutostop(db: Connection, id: string, autostop: AutostopSetting | null) {
  const text = autostop && JSON.stringify(autostop);
  await db.updateTable("clusters").set({ autostop: text }).where("id", "=", id).execute();
}

export async function setCommand(db: Connection, id: string, command: string) {
  await db.updateTable("clusters").set({ command }).where("id", "=", id).execute();
}
