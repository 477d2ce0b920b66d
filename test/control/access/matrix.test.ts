import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { toAppError } from "../../../common/errors.ts";
import type { Operation } from "../../../common/operation.ts";
import { operations } from "../../../contract/api.ts";
import { covers, type Role, roleNames } from "../../../contract/roles.ts";
import { authorize } from "../../../control/access/authorize.ts";
import { addCluster } from "../../../control/clusters/store.ts";
import { operations as built } from "../../../control/operations.ts";
import { addRecipe } from "../../../control/recipes/store.ts";
import { addService } from "../../../control/services/store.ts";
import { addStorage } from "../../../control/storage/store.ts";
import { addVolume } from "../../../control/volumes/store.ts";
import { anIdentity } from "../../helpers/callers.ts";
import { aCluster } from "../../helpers/clusters.ts";
import { openFakeBalancers } from "../../helpers/fake-balancers.ts";
import { addCaller } from "../../helpers/users.ts";
import { testWorld, type World } from "../../helpers/world.ts";
import { aService } from "../services/rows.ts";
import { aStorage } from "../storage/rows.ts";
import { aVolume } from "../volumes/rows.ts";
import { answers, type Reach } from "./answers.ts";

/** Whose thing is reached: one's own, one of one's workspace, or one of a workspace that is not one's. */
const relations = ["owner", "member", "outsider"] as const;
type Relation = (typeof relations)[number];
type Verdict = "allowed" | "refused" | "hidden" | "taken";

/** Where the things are; `taken` is the name of a cluster, `web` of a service, `warm` of a pool. */
const workspace = "team";
const names: Partial<Record<Reach, string>> = {
  cluster: "taken",
  newCluster: "taken",
  service: "web",
  newService: "web",
  pool: "warm",
  newPool: "warm",
  storage: "set",
  newVolume: "data",
  token: "token-ann",
  user: "ann",
  recipe: "ours",
};
/** What a row is about that belongs to nobody: roles that a call gives away. */
const roleNouns = ["changedRole", "givenRole"];

let world: World;
const cleaners: (() => Promise<void>)[] = [];
before(async () => {
  const balancers = openFakeBalancers({ usually: { readiness: "ready" } });
  world = await testWorld({ after: (clean) => void cleaners.push(clean) }, { balancers });
  await world.reconciling.stop();
  await addCaller(world.ctx, { name: "ann" });
  const user = { id: "ann", name: "ann" };
  await world.ctx.batch(async (tx) => {
    await addCluster(tx, aCluster({ name: "taken", user, workspace }));
    await addService(tx, aService({ name: "web", user, workspace }));
    const at = { createdAt: 0, updatedAt: 0, updatedBy: null };
    const ours = { name: "ours", type: "job", description: null, content: "run: x", user };
    await addRecipe(tx, { ...ours, ...at, isPinned: false, version: 1 });
    await addStorage(tx, aStorage({ name: "set", user, workspace }));
    await addVolume(tx, aVolume({ name: "data", user, workspace }));
    await addService(tx, aService({ id: "s2", name: "warm", isPool: true, user, workspace }));
  });
});
after(async () => {
  for (const clean of cleaners) await clean();
});

test("every operation has an answer to who may call it, and whose things it reaches", () => {
  const given = operations.map((row) => {
    const nouns = Object.keys(row.about ?? {}).filter((noun) => !roleNouns.includes(noun));
    const [noun = answers[row.name]?.split(" ")[1]] = nouns;
    return [row.name, `${row.access} ${noun}`];
  });

  assert.deepEqual(Object.fromEntries(given), answers);
});

test("an operation that is answered as unbuilt has no code", () => {
  const withCode = new Set(built.map(({ row }) => row.name));

  const wrong = operations.filter(({ name }) => answers[name]?.endsWith(" unbuilt"));

  assert.deepEqual(
    wrong.filter(({ name }) => withCode.has(name)).map(({ name }) => name),
    [],
  );
});

test("only debug dumps have no code", () => {
  const withCode = new Set(built.map(({ row }) => row.name));

  const unbuilt = operations.filter(({ name }) => !withCode.has(name)).map(({ name }) => name);

  assert.deepEqual(unbuilt, ["create_debug_dump", "debug.dump_download"]);
});

for (const row of operations)
  test(`${row.name}: ${answers[row.name]}`, async () => {
    const [access, reach] = (answers[row.name] ?? "").split(" ") as [Role | "open", Reach];
    for (const role of roleNames)
      for (const relation of relations) {
        const expected = expectedOf(access, reach, role, relation);
        assert.equal(await verdictOf(row, role, relation), expected, `${role}, ${relation}`);
      }
  });

/** What the rules say, one by one. */
function expectedOf(access: Role | "open", reach: Reach, role: Role, relation: Relation): Verdict {
  if (access !== "open" && !covers(role, access)) return "refused";
  if (role === "admin") return "allowed";
  if (["token", "user", "recipe"].includes(reach))
    return relation === "owner" ? "allowed" : "refused";
  if (relation !== "outsider") return "allowed";
  if (["cluster", "service", "pool", "storage"].includes(reach)) return "hidden";
  return ["newCluster", "newService", "newPool", "newVolume"].includes(reach) ? "taken" : "allowed";
}

async function verdictOf(row: Operation, role: Role, relation: Relation): Promise<Verdict> {
  const input = Object.fromEntries(
    Object.entries(row.about ?? {}).map(([noun, field]) => [field, names[noun as Reach]]),
  );
  const id = relation === "owner" ? "ann" : "ben";
  const workspaces = relation === "outsider" ? ["default"] : ["default", workspace];
  const identity = anIdentity({
    user: { id, name: id },
    role,
    workspaces: role === "admin" ? null : workspaces,
  });
  try {
    await authorize(world.ctx, row, input as never, identity);
    return "allowed";
  } catch (error) {
    const { type } = toAppError(error);
    if (type === "PermissionDeniedError") return "refused";
    if (type === "ConflictError") return "taken";
    if (type === "ClusterDoesNotExist" || type === "NotFoundError") return "hidden";
    throw error;
  }
}
