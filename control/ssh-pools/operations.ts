import { fail } from "../../common/errors.ts";
import { product } from "../../common/product.ts";
import { kubernetesOperations } from "../../contract/operations/kubernetes.ts";
import { sshNodePoolOperations as rows } from "../../contract/operations/ssh-node-pools.ts";
import { hintOf } from "../../contract/spelling.ts";
import { type Bound, bind } from "../bind.ts";
import type { Ground } from "../ground.ts";
import { availability, nodeInfo } from "./accelerators.ts";
import { cleanPools, deployPools } from "./deploy.ts";
import { masked } from "./document.ts";
import { listKeys, uploadKey } from "./keys.ts";
import { listLeftovers } from "./leftover-store.ts";
import { poolStatus } from "./status.ts";
import { listPoolNames, listPools } from "./store.ts";
import { forgetPool, updatePools } from "./update.ts";

const done = { status: "success" } as const;

/** Pools of machines reached over SSH: their documents, their keys, their hosts made ready. */
export const sshPoolOperations: Bound[] = [
  bind(rows.list, async (ctx) => {
    const pools = await listPools(ctx.db, ctx.seal);
    return Object.fromEntries([...pools].map(([name, config]) => [name, masked(config)]));
  }),
  bind(rows.update, async (ctx, document) => {
    await updatePools(ctx, document);
    return done;
  }),
  bind(rows.delete, async (ctx, { pool_name: name }) => {
    await forgetPool(ctx, name);
    return done;
  }),
  bind(rows.listKeys, async (ctx) => listKeys(ctx)),
  bind(rows.uploadKey, async (ctx, _input, { body }) => {
    if (body === null) fail("ValueError", "send a form with key_name and key_file");
    const path = await uploadKey(ctx, body);
    ctx.ssh.forget();
    return { ...done, key_path: path };
  }),
  bind(rows.deploy, async (ctx, { pool_name: name }, call) => {
    await deployPools(ctx, await poolsOf(ctx, name), call);
    return null;
  }),
  bind(rows.deployAll, async (ctx, { infra, cleanup, force }, call) => {
    const pools = await poolsOf(ctx, infra);
    await (cleanup ? cleanPools(ctx, pools, call, force) : deployPools(ctx, pools, call));
    return null;
  }),
  bind(rows.down, async (ctx, { pool_name: name }, call) => {
    await cleanPools(ctx, await poolsOf(ctx, name), call);
    return null;
  }),
  bind(rows.downAll, async (ctx, { infra, force }, call) => {
    await cleanPools(ctx, await poolsOf(ctx, infra), call, force);
    return null;
  }),
  bind(kubernetesOperations.kubernetesGpuAvailability, availability),
  bind(kubernetesOperations.kubernetesNodeInfo, nodeInfo),
  bind(rows.status, (ctx, { pool_name: name }, call) => poolStatus(ctx, name, call.signal)),
];

/**
 * The pool of this name, or `ssh/name`; null names all. One that is forgotten counts while something of
 * ours is left on its hosts. Throws `NotFoundError`.
 */
async function poolsOf(ctx: Ground, infra: string | null): Promise<string[]> {
  const left = (await listLeftovers(ctx.db, ctx.seal)).map(({ pool }) => pool);
  const names = [...new Set([...(await listPoolNames(ctx.db)), ...left])];
  if (infra === null || infra === "ssh") return names;
  const name = infra.replace(/^ssh\//, "");
  if (names.includes(name)) return [name];
  const hint = hintOf(
    name,
    names,
    `there is ${names.join(", ") || `none yet: ${product.word} ssh up -f FILE`}`,
  );
  fail("NotFoundError", `there is no pool ${name}; ${hint}`);
}
