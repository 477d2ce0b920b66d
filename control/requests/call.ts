import { fail } from "../../common/errors.ts";
import { findIdentity, localIdentity } from "../access/directory.ts";
import type { Identity } from "../access/identity.ts";
import type { Call, Progress } from "../bind.ts";
import type { Context } from "../context.ts";
import type { Ground } from "../ground.ts";
import { wordedFor } from "../wire/wording.ts";
import { isPassing } from "./passing.ts";
import { printerOf } from "./print.ts";
import * as store from "./store.ts";

/** A request that is worked on. */
export interface Work {
  readonly id: string;
  readonly name: string;
  readonly identity: Identity;
  readonly workspace: string;
  readonly client_api: number | null;
  readonly progress: string | null;
  readonly command: string;
  readonly program: string;
}

/** What only a call that does not wait has. */
export type Attached = Pick<Call, "origin" | "body">;
const nothing: Attached = { origin: null, body: null };

/** What the operation of a request gets to know of it, and may do for it. */
export function callOf(ctx: Context, work: Work, signal: AbortSignal, attached = nothing): Call {
  const { id, program, client_api: clientApi } = work;
  const print = printerOf(ctx.requestLogs, id);
  const progress: Progress = work.progress === null ? {} : JSON.parse(work.progress);
  return {
    ...work.identity,
    ...attached,
    id,
    workspace: work.workspace,
    program,
    clientApi,
    command: work.command,
    signal,
    progress,
    // What a hook wrote is not ours to word.
    print: isPassing(work) ? print : (text) => print(wordedFor({ program, clientApi }, text)),
    remember: (added, also) => {
      Object.assign(progress, added);
      return ctx.batch(async (tx) => {
        await also?.(tx);
        await store.setProgress(tx, id, progress);
      });
    },
    aside: (wait) => ctx.queues.aside(id, wait),
    note: (text) => ctx.batch((tx) => store.setStatusNote(tx, id, text)),
  };
}

interface Asker {
  readonly user_id: string;
  readonly user_name: string;
  readonly credential: string;
}

/**
 * Who asks, with the role and the workspaces that the user has now. Users whom only a version before
 * this one knew are administrators, as this machine's user is, as long as nobody logs in.
 */
export async function identityOf(
  ctx: Ground,
  { user_id: userId, user_name: name, credential }: Asker,
): Promise<Identity> {
  const identity = await findIdentity(ctx, { userId, credential });
  if (identity !== undefined) return identity;
  if (ctx.config.login.length === 0) return { ...localIdentity(ctx), user: { id: userId, name } };
  return fail("AuthenticationError", `user ${name}, who asked for this, was deleted`);
}
