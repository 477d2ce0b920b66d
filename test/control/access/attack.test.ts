import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import type { GivenInputOf, Operation } from "../../../common/operation.ts";
import { isAudited, toHttpCall } from "../../../common/operation.ts";
import { clusterOperations as clusters } from "../../../contract/operations/clusters.ts";
import { tokenOperations as tokens } from "../../../contract/operations/tokens.ts";
import { userOperations as users } from "../../../contract/operations/users.ts";
import { type Role, roleNames } from "../../../contract/roles.ts";
import { collectRefusals } from "../../../control/audit/collect.ts";
import { addCaller } from "../../helpers/users.ts";
import { aLog } from "../audit/log.ts";
import { openKnown } from "./attacked.ts";

const seed = Number(process.env["ATTACK_SEED"] ?? randomInt(2 ** 31));
const rounds = 60;
const atOnce = 12;
const people = { eve: "admin", ann: "user", bob: "user", vic: "viewer" } as const;
const names = Object.keys(people);

interface Answered {
  readonly row: Operation;
  readonly status: number;
  readonly requestId: string;
}

test(`no call succeeds with what had ended before it began; ATTACK_SEED=${seed}`, async (t) => {
  const log = await aLog(t, { config: { login: ["token"], loginsPerMinute: 10_000 } });
  const { ctx, http } = log.world;
  const known = openKnown();
  const made: { id: string; account: string }[] = [];
  const answered: Answered[] = [];
  let steps = 0;

  async function call<Op extends Operation>(secret: string, row: Op, given: GivenInputOf<Op>) {
    const { method, path, body } = toHttpCall(row, given as Record<string, unknown>);
    const headers = { authorization: `Bearer ${secret}` };
    const began = ++steps;
    const { status, headers: told, text } = await http(method, path, { body, headers });
    const at = { began, ended: ++steps };
    answered.push({ row, status, requestId: told["x-outrigger-request-id"] ?? "" });
    if (status !== 200) return undefined;
    const objection = known.objection(secret, row.access as Role, at);
    assert.equal(objection, undefined, `${row.name}, from ${began} to ${at.ended}: ${objection}`);
    return { at, json: (JSON.parse(text) ?? {}) as Record<string, string> };
  }

  async function create(secret: string): Promise<void> {
    const answer = await call(secret, tokens.create, { token_name: `t${steps}`, role: "viewer" });
    if (answer === undefined) return;
    const { token_id: id = "", service_account_user_id: account = "", token = "" } = answer.json;
    known.opened(token, account, "viewer", answer.at);
    made.push({ id, account });
  }
  const acts: ((by: string, role: Role, target: (typeof made)[0], person: string) => unknown)[] = [
    create,
    async (by, _role, { id, account }) => {
      const answer = await call(by, tokens.rotate, { token_id: id });
      if (answer === undefined) return;
      known.closed(account, answer.at);
      known.opened(answer.json["token"] ?? "", account, "viewer", answer.at);
    },
    async (by, _role, { id, account }) => {
      const answer = await call(by, tokens.delete, { token_id: id });
      if (answer !== undefined) known.closed(account, answer.at);
    },
    async (by, role, { id, account }) => {
      const answer = await call(by, tokens.updateRole, { token_id: id, role });
      if (answer !== undefined) known.changed(account, role, answer.at);
    },
    async (by, role, _target, person) => {
      const answer = await call(by, users.update, { user_id: person, role });
      if (answer !== undefined) known.changed(person, role, answer.at);
    },
    (by) => call(by, users.export, {}),
    (by) => call(by, users.list, {}),
    (by) => call(by, clusters.stop, { cluster_name: "demo" }),
  ];

  for (const [name, role] of Object.entries({ root: "admin" as const, ...people })) {
    const { authorization } = await addCaller(ctx, { name, role });
    known.opened(authorization.replace("Bearer ", ""), name, role);
  }
  const [root = ""] = known.secrets;
  for (let count = 0; count < 5; count += 1) await create(root);

  const choices = fc.sample(fc.array(fc.nat(), { minLength: 5, maxLength: 5 }), {
    seed,
    numRuns: rounds * atOnce,
  });
  const pick = <T>(from: readonly T[], choice = 0): T => from[choice % from.length] as T;
  for (let round = 0; round < rounds; round += 1)
    await Promise.all(
      choices.slice(round * atOnce, (round + 1) * atOnce).map(([act, by, role, target, person]) =>
        // Root keeps the game going: in the end all others are viewers, or deleted.
        pick(acts, act)(
          (by ?? 0) % 4 === 0 ? root : pick(known.secrets, by),
          pick(roleNames, role),
          pick(made, target),
          pick(names, person),
        ),
      ),
    );

  await collectRefusals(ctx);
  const entries = await ctx.db.selectFrom("audit").selectAll().orderBy("seq").execute();
  const headers = { authorization: `Bearer ${root}` };
  const verdict = (await http("GET", "/audit/verify", { headers })).json;
  assert.deepEqual([verdict["broken"], verdict["entries"]], [null, entries.length]);
  const allowed = new Set(
    entries.filter(({ outcome }) => outcome === "allowed").map((one) => one.request_id),
  );
  const ok = answered.filter(({ row, status }) => isAudited(row) && status === 200);
  assert.deepEqual(
    ok.filter(({ requestId }) => !allowed.has(requestId)),
    [],
  );
  // A token that is gone refuses an audited call, too; and a role may have gone while a request waited.
  const refused = answered.filter(
    ({ row, status, requestId }) =>
      [401, 403, 429].includes(status) ||
      (status === 404 && isAudited(row) && !allowed.has(requestId)),
  );
  const late = await ctx.db
    .selectFrom("requests")
    .select("id")
    .where("error", "like", '%"PermissionDeniedError"%')
    .execute();
  const listed = entries.filter(({ outcome, request_id: id }) => outcome === "refused" && id);
  const leftOut = entries
    .filter(({ operation }) => operation === "audit.left_out")
    .reduce((sum, { subject }) => sum + Number.parseInt(subject ?? "", 10), 0);
  assert.equal(listed.length + leftOut, refused.length + late.length);
  assert.ok(ok.length > 50 && refused.length > 50, `${ok.length} ok, ${refused.length} refused`);
});
