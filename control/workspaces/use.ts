import type { LimitName, WorkspaceUse } from "../../contract/records/workspaces.ts";
import type { Ground } from "../ground.ts";
import { policyOf, spentOf } from "./schema.ts";
import { readUse } from "./use-store.ts";

const dollars = ["dollars_per_day", "dollars_per_month"] as const;
const counted: readonly LimitName[] = ["clusters", "accelerators", ...dollars];

/** What a workspace uses now, and its limits. */
export async function findUse(ctx: Ground, workspace: string): Promise<WorkspaceUse> {
  const { limits } = policyOf((await ctx.configurations.current()).document, workspace);
  const use = await readUse(ctx.db, { workspace, limits: counted }, ctx.now());
  return { workspace, limits, use, spent: spentOf({ workspace, limits }, use) };
}

/** Says that a workspace has spent what it may; null where it has not. */
export async function findSpent(ctx: Ground, workspace: string): Promise<string | null> {
  const { limits } = policyOf((await ctx.configurations.current()).document, workspace);
  if (dollars.every((limit) => limits[limit] === undefined)) return null;
  return (await findUse(ctx, workspace)).spent;
}

/** The workspaces whose costs of this month count, also those of clusters that are gone. */
export async function listCounting({ configurations }: Ground): Promise<string[]> {
  const { document, workspaces } = await configurations.current();
  return Object.keys(workspaces).filter((name) => {
    const { limits } = policyOf(document, name);
    return dollars.some((limit) => limits[limit] !== undefined);
  });
}
