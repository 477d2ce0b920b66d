import type { Seal } from "../../common/seal.ts";
import type { Queries } from "../db/open.ts";
import { defaultWorkspace, type Workspaces } from "./membership.ts";

/** The configuration of control: workspaces, and settings that apply to every task. */
export interface Configuration {
  readonly version: number;
  readonly document: Readonly<Record<string, unknown>>;
  /** The workspaces in it, the default one included. */
  readonly workspaces: Workspaces;
}

/** The versions of the configuration; each is read once. */
export interface Configurations {
  /** The version that is in force. */
  current(): Promise<Configuration>;
  /** A version by its number; 0 is the one that nobody changed. */
  at(version: number): Promise<Configuration>;
}

/** Opens the configurations in the database. */
export function openConfigurations(db: Queries, seal: Seal): Configurations {
  let known = toConfiguration(0, {});

  async function at(version: number): Promise<Configuration> {
    if (known.version === version) return known;
    const row = await db
      .selectFrom("configurations")
      .select("document")
      .where("version", "=", version)
      .executeTakeFirst();
    known = toConfiguration(version, row ? JSON.parse(seal.open(row.document)) : {});
    return known;
  }

  return {
    at,
    async current() {
      const row = await db
        .selectFrom("configurations")
        .select(({ fn }) => fn.max("version").as("version"))
        .executeTakeFirst();
      return at(row?.version ?? 0);
    },
  };
}

function toConfiguration(
  version: number,
  document: Readonly<Record<string, unknown>>,
): Configuration {
  const workspaces = { [defaultWorkspace]: {}, ...(document["workspaces"] as Workspaces) };
  return { version, document, workspaces };
}
