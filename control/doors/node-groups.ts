import { globSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { product } from "../../common/product.ts";

/** Where the agent of a node keeps links to the control groups of what it runs, below its home. */
const links = [
  `.${product.word}/jobs/*/groups`,
  `.${product.word}/shells/*/groups`,
  `.${product.word}/agent/lifecycles/*/*/groups`,
] as const;

/** The control groups of the jobs, hooks and shells of a node of this machine. */
export const listNodeGroups = (home: string): string[] =>
  links
    .flatMap((pattern) => globSync(pattern, { cwd: home }))
    .flatMap((link) => readlinkSync(join(home, link)).split(" "));

/** Bash that kills whatever is in the control groups of the user's node, and removes them. */
export const endNodeGroups = `
for link in ${links.map((link) => `~/${link}`).join(" ")}; do
  for group in $(readlink "$link" || true); do
    for ((n = 0; n < 50; n += 1)); do
      [ -d "$group" ] || break
      { echo 1 > "$group/cgroup.kill"; } 2> /dev/null || true
      pids=$(find "$group" -name cgroup.procs -exec cat {} + 2> /dev/null || true)
      [ -z "$pids" ] || kill -KILL $pids 2> /dev/null || true
      find "$group" -depth -type d -exec rmdir {} + 2> /dev/null || sleep 0.1
    done
  done
done`;
