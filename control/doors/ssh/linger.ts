import { product } from "../../../common/product.ts";
import { runOn } from "./exec.ts";
import type { ReachedHost } from "./reached-host.ts";

/** Where a host keeps that it was us who asked. */
const mark = `~/.${product.word}/lingers`;
const lingerMs = 10_000;

const ask = `
set -eu
user=$(id -un)
if [ "$(id -u)" = 0 ] || [ ! -d /run/systemd/system ] || [ -e "/var/lib/systemd/linger/$user" ]; then exit; fi
touch ${mark}
if ! loginctl --no-ask-password enable-linger "$user" 2> /dev/null; then rm -f ${mark}; exit; fi
for ((n = 0; n < 50; n += 1)); do
  if [ -d "/run/user/$(id -u)/systemd" ]; then break; fi
  sleep 0.1
done
echo asked`;

/** Undoes what was asked for; what systemd did for the user before stays. */
export const lingerNoMore = `
if [ -e ${mark} ]; then
  loginctl --no-ask-password disable-linger "$(id -un)"
  rm -f ${mark}
fi`;

/**
 * Has the systemd of a user run also while nobody is logged in, where the machine has one and lets
 * users decide; whether that was changed, so that an agent can be put there now.
 */
export async function askToLinger(
  { ssh, target }: ReachedHost,
  signal?: AbortSignal,
): Promise<boolean> {
  const script = { what: "asking systemd to linger", text: ask, timeoutMs: lingerMs };
  return (await runOn(ssh, target, script, signal)) !== "";
}
