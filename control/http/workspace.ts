import { fail } from "../../common/errors.ts";
import { product, protocol } from "../../common/product.ts";

const only = "default";
const configs = [product.word, protocol.word].map((word) => `override_${word}_config`);

/** Throws `PermissionDeniedError` where the caller's settings name another workspace than the only one. */
export function refuseOtherWorkspaces(input: unknown): void {
  const fields = (input ?? {}) as Record<string, { active_workspace?: unknown } | null | undefined>;
  for (const name of configs) {
    const asked = fields[name]?.active_workspace ?? only;
    if (asked !== only)
      fail(
        "PermissionDeniedError",
        `active_workspace: there is no workspace ${JSON.stringify(asked)}; there is only one: ${only}`,
      );
  }
}
