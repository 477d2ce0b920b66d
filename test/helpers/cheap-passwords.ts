/** A module that has control make hashes of passwords which take next to no time. */
import type { TestContext } from "node:test";
import { hashCost } from "../../control/users/passwords.ts";

const usual = { ...hashCost };
const cheap = { ...usual, ln: 4 };
Object.assign(hashCost, cheap);

/** Has hashes cost what they do in production until the test ends. */
export function makeHashesCostly(t: TestContext): void {
  Object.assign(hashCost, usual);
  t.after(() => void Object.assign(hashCost, cheap));
}
