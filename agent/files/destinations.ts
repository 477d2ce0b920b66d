import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, normalize } from "node:path";
import { AppError, type ErrorType, errorCodeOf, fail } from "../../common/errors.ts";
import { product, protocol } from "../../common/product.ts";
import type { Agent } from "../context.ts";
import { isWithin, realOf, withRealParent } from "./ledger.ts";

type Home = Pick<Agent, "config">;

/** Where a destination lies, without links on the way to it; throws `ValueError` for one that others have a part in. */
export function destinationOf(agent: Home, destination: string): string {
  const named = placeOf(agent, destination);
  const place = named === "/" ? named : withRealParent(named);
  if (place === "/" || named === homeOf(agent) || place === realOf(homeOf(agent)))
    fail("ValueError", `${destination} cannot be a destination; name a folder or file below it`);
  if (isWithin(realOf(agent.config.agentFolder), place))
    fail("ValueError", `${destination} cannot be a destination: it is the agent's own`);
  return place;
}

/** Where that which is asked for truly lies, whatever links lead there. Throws `NotFoundError`. */
export async function findSource(agent: Home, path: string): Promise<string> {
  const place = placeOf(agent, path);
  try {
    const source = await realpath(place);
    const stats = await stat(source);
    if (stats.isFile() || stats.isDirectory()) return source;
  } catch (error) {
    const reason = reasons[errorCodeOf(error) ?? ""];
    if (reason === undefined) throw error;
    throw new AppError(reason.type, reason.say(place), {}, error);
  }
  return fail("ValueError", `${place} on this node is neither a file nor a folder`);
}

const absent = {
  type: "NotFoundError" as const,
  say: (place: string) => `there is no ${place} on the node`,
};

const reasons: Readonly<Record<string, { type: ErrorType; say: (place: string) => string }>> = {
  ENOENT: absent,
  ENOTDIR: absent,
  EACCES: {
    type: "PermissionDeniedError",
    say: (place) => `${place} may not be read by the user of the node`,
  },
  ELOOP: { type: "ValueError", say: (place) => `${place} is a link that leads nowhere` },
  ENAMETOOLONG: { type: "ValueError", say: (place) => `${place} is too long a name for the node` },
};

/** Where a path lies. The working folder has two names, and the second may not be there yet. */
function placeOf(agent: Home, path: string): string {
  const { workdir } = agent.config;
  const name = path.replace(
    new RegExp(`^~/(${product.word}|${protocol.requestPrefix})_workdir(?=/|$)`),
    () => workdir,
  );
  const isOfHome = name === "~" || name.startsWith("~/");
  const whole = isOfHome ? join(homeOf(agent), name.slice(1)) : name;
  const place = normalize(isAbsolute(whole) ? whole : join(workdir, whole));
  return place.replace(/(?<=.)\/+$/, "");
}

const homeOf = ({ config }: Home): string =>
  config.baseEnv["HOME"] ?? fail("ConfigError", "HOME is not set");
