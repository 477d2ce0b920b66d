import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../common/errors.ts";
import { protocol, readEnv } from "../common/product.ts";
import type { Call } from "./bind.ts";
import type { Ground } from "./ground.ts";

/** The folder that has one of its own for each user. */
export const clientsOf = (ctx: Ground): string => join(ctx.config.home, "control", "clients");

/** The folder under which a user's downloads lie. */
export const downloadsOf = (ctx: Ground, userId: string): string =>
  join(clientsOf(ctx), encodeURIComponent(userId), "logs");

const shownBefore = `~/.${protocol.requestPrefix}/api_server/clients/`;
const shownAfter = `/${protocol.requestPrefix}_logs`;
/** How existing clients write the name of their user. */
const clientName = /^[\w.@+-]{1,128}$/;

/**
 * The name that clients know that folder by. Existing clients write what lies there to their usual
 * place only where it has the name of their user, which they send in `env_vars`.
 */
export function shownDownloads(userId: string, env: Readonly<Record<string, string>>): string {
  const named = readEnv(env, "USER_ID") ?? "";
  return `${shownBefore}${clientName.test(named) ? named : userId}${shownAfter}`;
}

/** What a name given by `shownDownloads` has below it, whatever the user is called; undefined for others. */
export function belowDownloads(path: string): string | undefined {
  if (!path.startsWith(shownBefore)) return undefined;
  const [user = "", folder, ...below] = path.slice(shownBefore.length).split("/");
  const isOurs = clientName.test(user) && !/^\.+$/.test(user) && `/${folder}` === shownAfter;
  return isOurs ? below.map((part) => `/${part}`).join("") : undefined;
}

/** A log that a caller takes away. */
export interface Log {
  /** Of its file. */
  readonly name: string;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Copies logs to a folder among the caller's downloads; returns the name that `download` takes for it. */
export async function addDownload(
  ctx: Ground,
  { user, signal }: Call,
  env: Readonly<Record<string, string>>,
  place: string,
  logs: readonly Log[],
): Promise<string> {
  const folder = join(downloadsOf(ctx, user.id), place);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const { name, chunks } of logs) {
    const file = createWriteStream(join(folder, name), { mode: 0o600 });
    await pipeline(orWhyNot(chunks, signal), file);
  }
  return `${shownDownloads(user.id, env)}/${place}`;
}

/** The rest of a log that cannot be read is replaced by the reason, so that the other logs still follow. */
async function* orWhyNot(
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (error) {
    signal.throwIfAborted();
    const why = messageOf(error);
    yield Buffer.from(`the rest cannot be read: ${why}\n`);
  }
}
