import { BlockList, isIP } from "node:net";
import { fail } from "../../common/errors.ts";
import type { Head } from "./identity.ts";

/** Addresses whose headers about clients are believed. */
export interface Proxies {
  /** Whether a connection comes from one of them. */
  includes(address: string | undefined): boolean;
  /** The address that a request came from; behind proxies, the last one that is no proxy. */
  clientOf(head: Head): string;
  /** The address that a client called control by, such as https://control.example. */
  siteOf(head: Head): string;
}

/** Reads addresses and networks, such as 127.0.0.1 and 10.0.0.0/8. Throws `ConfigError` for others. */
export function openProxies(addresses: readonly string[]): Proxies {
  const known = new BlockList();
  for (const text of addresses) addTo(known, text);

  function includes(address: string | undefined): boolean {
    if (addresses.length === 0) return false;
    const plain = plainOf(address);
    const family = isIP(plain);
    return family !== 0 && known.check(plain, family === 6 ? "ipv6" : "ipv4");
  }

  return {
    includes,
    clientOf({ headers, socket }) {
      const peer = plainOf(socket.remoteAddress);
      if (!includes(peer)) return peer || "a local socket";
      const hops = String(headers["x-forwarded-for"] ?? "")
        .split(",")
        .map((hop) => plainOf(withoutPort(hop.trim())));
      // What stands before it was written by the client, and may be anything.
      const client = hops.reverse().find((hop) => !includes(hop)) ?? "";
      return isIP(client) === 0 ? peer : client;
    },
    siteOf({ headers, socket }) {
      const told = includes(socket.remoteAddress) ? headers : {};
      const own = "encrypted" in socket ? "https" : "http";
      const scheme = firstOf(told["x-forwarded-proto"]) === "https" ? "https" : own;
      const site = `${scheme}://${firstOf(told["x-forwarded-host"]) ?? headers.host ?? ""}`;
      return URL.canParse(site) ? new URL(site).origin : `${scheme}://localhost`;
    },
  };
}

/** What the outermost proxy wrote, where several did. */
const firstOf = (header: string | readonly string[] | undefined): string | undefined =>
  [header].flat()[0]?.split(",")[0]?.trim() || undefined;

/** Some proxies write the port as well: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const withoutPort = (hop: string): string =>
  /^([\d.]+):\d+$/.exec(hop)?.[1] ?? /^\[(.*)\](:\d+)?$/.exec(hop)?.[1] ?? hop;

/** An address over IPv4 may be written as one of IPv6. */
const plainOf = (address = ""): string => address.replace(/^::ffff:(?=\d+\.)/i, "");

function addTo(known: BlockList, text: string): void {
  const [address = "", bits] = text.split("/");
  const family = isIP(address);
  const most = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (family === 0 || !Number.isInteger(prefix) || prefix < 0 || prefix > most)
    fail(
      "ConfigError",
      `OUTRIGGER_PROXY_ADDRESSES: ${text} is no address or network, such as 127.0.0.1 or 10.0.0.0/8`,
    );
  known.addSubnet(address, prefix, family === 6 ? "ipv6" : "ipv4");
}
