import { fail } from "../../common/errors.ts";
import type { InputOf } from "../../common/operation.ts";
import { product } from "../../common/product.ts";
import type { serveOperations as rows } from "../../contract/operations/serve.ts";
import { serviceMachine } from "../../contract/statuses.ts";
import type { Call } from "../bind.ts";
import type { Context } from "../context.ts";
import { move } from "../move.ts";
import { nudge } from "../reconciler.ts";
import { causeOf, want } from "../want.ts";
import { type Chosen, chooseServices } from "./find.ts";
import { narrate } from "./narration.ts";
import { type Service, serviceKey, wordsOf } from "./schema.ts";
import { getService } from "./store.ts";

type Input = InputOf<typeof rows.down>;

/** Takes services down: what is open is finished, then nothing of them is left. */
export async function down(ctx: Context, { service_names: names, all, purge }: Input, call: Call) {
  const chosen = await chooseOnce(ctx, { names: all ? null : names, isPool: false }, call);
  await Promise.all(chosen.map((id) => downOne(ctx, id, purge, call)));
  return null;
}

/** Which services or pools to take down. A second attempt does not choose what came up since the first. */
export async function chooseOnce(
  ctx: Context,
  wanted: Chosen,
  call: Call,
): Promise<readonly string[]> {
  const { serviceIds: known } = call.progress;
  const chosen = known ?? (await chooseServices(ctx, wanted, call)).map(({ id }) => id);
  if (known === undefined) await call.remember({ serviceIds: chosen });
  if (chosen.length === 0) call.print(`${noneOf(wanted)}\n`);
  return chosen;
}

/** That no live service, or pool, goes by these names. */
function noneOf({ names, isPool }: Chosen): string {
  const { noun } = wordsOf({ isPool });
  const given = [names ?? []].flat();
  return given.length === 0
    ? `There is no ${noun} to take down.`
    : `No ${noun} is named ${given.join(" or ")}.`;
}

/** What the row's shapes cannot say of which services are meant. */
export function checkDown({ service_names: names, all }: Input): void {
  const isNamed = names !== null && names.length > 0;
  if (isNamed === all) fail("ValueError", "give either service_names or all");
}

async function downOne(ctx: Context, id: string, purge: boolean, call: Call): Promise<void> {
  const { status } = await getService(ctx.db, id);
  const desire = { wanted: "GONE", ...causeOf(call, "down") };
  if (status !== "GONE") await ctx.batch((tx) => want(tx, "service", id, desire));
  await untilGone(ctx, id, purge, call);
}

/** Follows a service or a pool that goes down, and forgets one that cannot where that is asked for. */
export async function untilGone(
  ctx: Context,
  id: string,
  purge: boolean,
  call: Call,
): Promise<void> {
  const before = await getService(ctx.db, id);
  const { name } = before;
  const { noun } = wordsOf(before);
  const called = `${noun[0]?.toUpperCase()}${noun.slice(1)}`;
  // Scripts of existing clients wait for these words.
  call.print(`${called} '${name}' is scheduled to be terminated.\n`);
  void nudge(ctx, "service", id);
  const look = async () => {
    const now = await getService(ctx.db, id);
    return ["GONE", "FAILED_CLEANUP"].includes(now.status) ? now : undefined;
  };
  const service = await call.aside(ctx.changes.until(serviceKey(id), look, call.signal));
  if (service.status === "GONE") return call.print(`${called} ${name} is gone.\n`);
  const why = service.problem?.message;
  const command = service.isPool ? "jobs pool" : "serve";
  const wayOut = `control keeps trying; to remove it from the list: ${product.word} ${command} down --purge ${name}`;
  if (!purge) fail("RuntimeError", `${noun} ${name}: ${why}; ${wayOut}`);
  await forget(ctx, service, call.signal);
  call.print(
    `${called} ${name} is removed from the list, although ${why}; control keeps trying.\n`,
  );
}

/** Of a service that is forgotten its replicas are still removed as soon as they can be. */
async function forget(ctx: Context, service: Service, signal: AbortSignal): Promise<void> {
  if (!service.isPool) await ctx.balancers.end(service, 0, signal);
  const reason = `purged, and may have left something: ${service.problem?.message}`;
  await move(ctx, serviceMachine, service, "GONE", reason);
  narrate(ctx, service.id, `GONE: ${reason}`);
  void nudge(ctx, "service", service.id);
}
