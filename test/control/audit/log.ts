import type { TestContext } from "node:test";
import { sql } from "kysely";
import type { GivenInputOf } from "../../../common/operation.ts";
import { auditOperations as rows } from "../../../contract/operations/audit.ts";
import type { AuditEntry, AuditVerdict } from "../../../contract/records/audit.ts";
import { addEntries } from "../../../control/audit/entry.ts";
import type { NewAudit } from "../../../control/audit/schema.ts";
import { testWorld, type World, type WorldOptions } from "../../helpers/world.ts";

export const anEntry = (given: Partial<NewAudit> = {}): NewAudit => ({
  ...{ at: Date.now(), userId: "u1", userName: "ada", credential: "token ci" },
  ...{ address: "10.0.0.1", operation: "stop", subject: "cluster demo", outcome: "allowed" },
  ...{ reason: null, requestId: null },
  ...given,
});

/** A control plane, and its audit log as calls show it and as a thief of the database changes it. */
export interface Log {
  readonly world: World;
  add(entries: readonly Partial<NewAudit>[]): Promise<void>;
  list(input?: GivenInputOf<typeof rows.list>): Promise<AuditEntry[]>;
  verify(input?: GivenInputOf<typeof rows.verify>): Promise<AuditVerdict>;
  /** Statements past everything that control does. */
  tamper(...statements: string[]): Promise<void>;
}

export async function aLog(t: TestContext, options?: WorldOptions): Promise<Log> {
  const world = await testWorld(t, options);
  const { ctx, client } = world;
  return {
    world,
    add: (entries) => ctx.batch((tx) => addEntries(tx, entries.map(anEntry))),
    list: async (input = {}) =>
      (await client.send(rows.list, input)).json["entries"] as AuditEntry[],
    verify: async (input = {}) => (await client.send(rows.verify, input)).json as AuditVerdict,
    tamper: (...statements) =>
      ctx.batch(async (tx) => {
        for (const statement of statements) await sql.raw(statement).execute(tx);
      }),
  };
}
