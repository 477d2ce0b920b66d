import { networkOf, openMinuteLimit } from "../../common/rate-limit.ts";
import { auditOperations } from "../../contract/operations/audit.ts";
import type { NewAudit } from "./schema.ts";

/** Which refusals are written down: of a flood only the first, and how many came after them. */
export interface Refusals {
  /** Whether one from this address is to be written down; one that is not is counted. */
  admit(address: string): boolean;
  /** The entry about what was counted, if anything was. */
  takeLeftOut(): NewAudit[];
  /** As `takeLeftOut`, but nothing while the last such entry is less than a minute old. */
  takeLeftOutIfDue(): NewAudit[];
}

const perAddress = 30;
const inAll = 300;
const minuteMs = 60_000;

/** The name under which the log counts the refusals that it does not list. */
export const leftOutName = `${auditOperations.list.name.split(".")[0]}.left_out`;

/** Opens the count; it lives in memory, and takes no more of it in a flood. */
export function openRefusals(now: () => Date): Refusals {
  const ms = () => now().getTime();
  const ofAddress = openMinuteLimit(perAddress, { now });
  const ofAll = openMinuteLimit(inAll, { now });
  let count = 0;
  let address = "";
  let since = 0;

  function takeLeftOut(): NewAudit[] {
    if (count === 0) return [];
    const entry = leftOut(count, address, since, ms());
    count = 0;
    return [entry];
  }

  return {
    takeLeftOut,
    takeLeftOutIfDue: () => (ms() - since < minuteMs ? [] : takeLeftOut()),
    admit(from) {
      if (ofAddress.take(networkOf(from)) === 0 && ofAll.take("") === 0) return true;
      if (count === 0) [address, since] = [from, ms()];
      else if (address !== from) address = "";
      count += 1;
      return false;
    },
  };
}

const leftOut = (count: number, address: string, since: number, at: number): NewAudit => ({
  ...{ at, userId: "", userName: "", credential: "", address, operation: leftOutName },
  subject: `${count} more refused calls${address === "" ? " from several addresses" : ""}`,
  outcome: "refused",
  reason:
    `since ${new Date(since).toISOString()}; at most ${perAddress} a minute from one address ` +
    `and ${inAll} in all are listed`,
  requestId: null,
});
