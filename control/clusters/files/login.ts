import { fail } from "../../../common/errors.ts";

/**
 * An address and the login that was in it. Throws `ValueError` for one that is no address; as it may have a secret,
 * no error has it: those of `URL` would bring it to the log.
 */
export function splitLogin(name: string, address: string) {
  try {
    const url = new URL(address);
    const [username = "", password = ""] = [url.username, url.password].map(decodeURIComponent);
    Object.assign(url, { username: "", password: "" });
    return { url, username, password };
  } catch {
    return fail("ValueError", `${name}: its address is not valid; ${encoding}`);
  }
}

const encoding = "write / ? # @ and % in a login as %2F %3F %23 %40 and %25";
