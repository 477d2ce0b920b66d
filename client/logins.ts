import { rmSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../common/files.ts";
import { type Context, type Contexts, readContexts, writeContexts } from "./contexts.ts";

interface Home {
  readonly home: string;
}

/** Where the session of a context lies, which `login` writes. */
export const loginFileOf = ({ home }: Home, context: string): string =>
  join(home, "logins", context);

/** Keeps the session of a context where only this user can read it; the context carries it from now on. */
export function keepLogin(
  home: Home,
  name: string,
  context: Context,
  secret: string,
  isUsed: boolean,
): void {
  const file = loginFileOf(home, name);
  replaceFile(file, `${secret}\n`);
  keepContext(home, name, { ...context, tokenFile: file }, isUsed);
}

/** Writes a context down, in the place of one that has its name. */
export function keepContext(home: Home, name: string, context: Context, isUsed = false): void {
  const before = readContexts(home);
  const contexts = { ...before.contexts, [name]: context };
  writeContexts(home, { ...before, contexts, ...(isUsed && { current: name }) });
}

/** Forgets the session of a context. */
export function dropLogin(home: Home, name: string): void {
  const { contexts } = readContexts(home);
  const { tokenFile, ...context } = contexts[name] ?? {};
  if (tokenFile === loginFileOf(home, name)) keepContext(home, name, context as Context);
  rmSync(loginFileOf(home, name), { force: true });
}

/** The name of the context of an address: one that there is, or one after its host. */
export function nameFor({ contexts }: Contexts, endpoint: string): string {
  const known = Object.entries(contexts).find(([, context]) => context.endpoint === endpoint);
  if (known !== undefined) return known[0];
  const { hostname, port } = new URL(endpoint);
  const host = hostname
    .replace(/[^A-Za-z0-9.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 50);
  const usual = [host || "control", port].filter(Boolean).join("-");
  const free = [usual, ...Array.from({ length: 9 }, (_, at) => `${usual}-${at + 2}`)];
  return free.find((name) => !Object.hasOwn(contexts, name)) ?? usual;
}
