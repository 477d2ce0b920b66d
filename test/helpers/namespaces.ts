import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { localNetworks, whyNoNamespaces } from "../../control/providers/local-network.ts";

/** Why no network namespaces can be made here; false when they can. */
export const whyNoNamespacesHere: string | false =
  whyNoNamespaces({
    missing: ["ip", "nsenter"].filter(
      (name) =>
        !["/usr/sbin", "/usr/bin", "/sbin", "/bin"].some((at) => existsSync(`${at}/${name}`)),
    ),
    status: existsSync("/proc/self/status") ? readFileSync("/proc/self/status", "utf8") : "",
  }) ?? false;

/** The network namespaces that nodes of a home have. */
export function namespacesOf(home: string): string[] {
  const [, place = ""] = localNetworks({ home, nodeEnv: {} }).within("", []);
  const folder = dirname(place.replace("--net=", ""));
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith(basename(place)));
}
