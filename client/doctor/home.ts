import { constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { canUse } from "../../common/files.ts";
import { type Finding, missing, ok, warning } from "./finding.ts";

const usable = constants.R_OK | constants.W_OK | constants.X_OK;
const elsewhere = "make it yours, or set OUTRIGGER_HOME to a folder that you may write to";
/** Rights of the group and of others. */
const othersMode = 0o077;

/** The home folder: whether it can be written, and by whom else. */
export function lookAtHome(home: string, uid = process.getuid?.()): Finding {
  const check = "Home folder";
  if (!existsSync(home)) {
    const above = nearest(home);
    return canUse(above, constants.W_OK | constants.X_OK)
      ? ok(check, `${home}, to be created when it is needed`)
      : missing(check, `${home} cannot be created: ${above} is not writable`, elsewhere);
  }
  const { mode, uid: owner } = statSync(home);
  if (!statSync(home).isDirectory()) return missing(check, `${home} is not a folder`, elsewhere);
  if (!canUse(home, usable)) return missing(check, `${home} is not writable`, elsewhere);
  if (uid !== undefined && owner !== uid)
    return warning(check, `${home} belongs to user ${owner}`, elsewhere);
  if ((mode & othersMode) !== 0)
    return warning(check, `${home} is open to other users`, `run: chmod 700 ${home}`);
  return ok(check, `${home}, only yours`);
}

const megabyte = 1_000_000;
const neededBytes = 100 * megabyte;
const comfortableBytes = 1_000 * megabyte;

/** The disk of the home folder. */
export function lookAtDisk(home: string, { bavail, bsize } = statfsSync(nearest(home))): Finding {
  const freeBytes = bavail * bsize;
  const found = `${(freeBytes / comfortableBytes).toFixed(1)} GB free for ${home}`;
  const hint = "free some space: requests, logs and files of jobs are kept there";
  if (freeBytes < neededBytes) return missing("Disk", found, hint);
  return freeBytes < comfortableBytes ? warning("Disk", found, hint) : ok("Disk", found);
}

/** The folder itself, or the first one above it that exists. */
const nearest = (folder: string): string =>
  existsSync(folder) ? folder : nearest(dirname(folder));
