import { fail } from "../../common/errors.ts";

const charactersAtMost = 256;

/**
 * Throws `ValueError` for what is no name of a person. A colon ends the name in Basic authentication,
 * and marks those of service accounts; a spreadsheet computes what begins like a formula.
 */
export function requireUserName(name: string): void {
  const say = (what: string) => fail("ValueError", `${JSON.stringify(name)} ${what}`);
  if (name === "") fail("ValueError", "a user needs a name");
  if ([...name].length > charactersAtMost)
    fail("ValueError", `a name has at most ${charactersAtMost} characters`);
  if (name.trim() !== name) say("begins or ends with a space");
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name)) say("has invisible characters");
  if (name.includes(":")) say("has a colon, which names of users must not contain");
  if (/^[=+@-]/.test(name)) say("begins with a character that spreadsheets read as a formula");
}
