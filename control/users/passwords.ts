import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { fail } from "../../common/errors.ts";
import { openTurns } from "../../common/turns.ts";
import type { Ground } from "../ground.ts";
import type { Account } from "./schema.ts";
import { listNamed } from "./store.ts";

/** What a hash costs to compute; it stands in each hash, so that it can grow. Source: RFC 7914. */
interface Cost {
  /** The number of rounds, as a power of two. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

interface Hash extends Cost {
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** What a new hash costs; tests make cheaper ones. */
export const hashCost: Cost = { ln: 15, r: 8, p: 1 };
const saltBytes = 16;
const keyBytes = 32;

export const passwordCharacters = { least: 8, most: 256 } as const;

/** Throws `ValueError` for a text that is no password. */
export function requirePassword(password: string): void {
  const { least, most } = passwordCharacters;
  const { length } = [...password];
  if (length < least || length > most)
    fail("ValueError", `a password has ${least} to ${most} characters`);
  if (/\p{Cc}/u.test(password)) fail("ValueError", "a password is one line without tabs");
}

/** The hash of a password as it is stored: `$scrypt$ln=15,r=8,p=1$SALT$KEY`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  return toText({ ...hashCost, salt, key: await derive(password, { ...hashCost, salt }) });
}

/** Whether a stored hash is that of a password. */
export async function isPasswordOf(stored: string, password: string): Promise<boolean> {
  const { key, ...how } = toHash(stored);
  return timingSafeEqual(await derive(password, how, key.length), key);
}

/** Takes as long to compare as a real hash does, and nothing fits it. */
const decoy = () =>
  toText({ ...hashCost, salt: Buffer.alloc(saltBytes), key: Buffer.alloc(keyBytes) });

/**
 * The user of this name if the password is theirs. A name that nobody has costs as much time as a
 * wrong password. Throws `RateLimitError` while too many passwords are being checked.
 */
export async function verifyPassword(
  ctx: Ground,
  name: string,
  password: string,
): Promise<Account | undefined> {
  if (password.length > 2 * passwordCharacters.most) return undefined;
  const [known] = await listNamed(ctx.db, [name]);
  const isRight = await isPasswordOf(known?.password ?? decoy(), password);
  if (!isRight || known === undefined || known.password === null) return undefined;
  // It may have been changed while this one was compared.
  const [now] = await listNamed(ctx.db, [name]);
  return now?.password === known.password ? now.user : undefined;
}

/** Each takes 32 MiB, and a thread of the few that also read and write files. */
const atOnce = 2;
/** What waits longer than these take is refused: it would hold up everybody who logs in. */
const pendingAtMost = 24;
const inTurn = openTurns(atOnce);
let pending = 0;

async function derive(
  password: string,
  { ln, r, p, salt }: Omit<Hash, "key">,
  length = keyBytes,
): Promise<Buffer> {
  if (pending >= pendingAtMost)
    fail("RateLimitError", "too many passwords are being checked; try again in a few seconds");
  pending += 1;
  const options = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r };
  const compute = () =>
    new Promise<Buffer>((resolve, reject) =>
      scrypt(password.normalize("NFKC"), salt, length, options, (error, key) =>
        error === null ? resolve(key) : reject(error),
      ),
    );
  try {
    return await inTurn(compute);
  } finally {
    pending -= 1;
  }
}

function toText({ ln, r, p, salt, key }: Hash): string {
  const [saltText, keyText] = [salt, key].map((part) => part.toString("base64url"));
  return `$scrypt$ln=${ln},r=${r},p=${p}$${saltText}$${keyText}`;
}

function toHash(text: string): Hash {
  const [, ln, r, p, salt, key] =
    /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/.exec(text) ??
    fail("InternalError", "a stored password has an unknown form");
  const [saltOf = Buffer.of(), keyOf = Buffer.of()] = [salt, key].map((part) =>
    Buffer.from(part ?? "", "base64url"),
  );
  return { ln: Number(ln), r: Number(r), p: Number(p), salt: saltOf, key: keyOf };
}
