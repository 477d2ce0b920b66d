import { loginCookies } from "../common/product.ts";
import { byte, bytesOf, equals } from "./bytes.ts";

const names = Object.values(loginCookies).map((name) => bytesOf(`${name}=`));
const cover = 0x78;

/**
 * Overwrites the values of cookies that carry logins to control. A browser sends them to every port of
 * control's host, where the server behind this sidecar could use them to act as the user.
 */
export function coverLogins(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; ) {
    let end = at;
    while (end < to && bytes[end] !== byte.semicolon) end++;
    while (at < end && bytes[at] === byte.space) at++;
    for (const name of names)
      if (equals(bytes, at, at + name.length, name)) bytes.fill(cover, at + name.length, end);
    at = end + 1;
  }
}
