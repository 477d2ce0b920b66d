import { createHash } from "node:crypto";

/** Subnets of four addresses: one is the machine's, one the node's. Source: RFC 1918. */
const prefixes = ["10.213", "172.29", "192.168"];
const inPrefix = 2 ** 14;
const bits = 30;
/** Whatever leads to more than this is a way out, as a default route is, and no network of its own. */
const widestNetwork = 8;

/** The addresses at both ends of the cable to a node. */
export interface Ends {
  readonly near: string;
  readonly node: string;
}

/** The addresses of a subnet: this machine has the first, the node the second. */
export function endsOf(subnet: number): Ends {
  const at = (offset: number) => textOf(firstOf(subnet) + offset);
  return { near: at(1), node: at(2) };
}

/**
 * Every subnet that no route of this machine leads to, in an order of its own for each name: who
 * looks at the same time looks elsewhere, and an address is not given to the next at once.
 */
export function* freeSubnets(name: string, routes: readonly string[]): Generator<number> {
  const start = createHash("sha256").update(name).digest().readUInt16BE() % inPrefix;
  const taken = routes.map(networkOf).filter(({ length }) => length >= widestNetwork);
  for (let prefix = 0; prefix < prefixes.length; prefix += 1)
    for (let step = 0; step < inPrefix; step += 1) {
      const subnet = prefix * inPrefix + ((start + step) % inPrefix);
      if (!taken.some((network) => overlaps(network, subnet))) yield subnet;
    }
}

interface Network {
  readonly first: number;
  readonly length: number;
}

/** Of a route as `ip` prints it: `10.0.0.0/8`, `10.0.0.1`, `default`. */
function networkOf(route: string): Network {
  if (route === "default") return { first: 0, length: 0 };
  const [address = "", length = "32"] = route.split("/");
  return { first: numberOf(address), length: Number(length) };
}

function overlaps({ first, length }: Network, subnet: number): boolean {
  const size = 2 ** (32 - Math.min(length, bits));
  return Math.floor(first / size) === Math.floor(firstOf(subnet) / size);
}

const firstOf = (subnet: number): number =>
  numberOf(`${prefixes[Math.floor(subnet / inPrefix)]}.0.0`) + (subnet % inPrefix) * 4;

const numberOf = (address: string): number =>
  address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

const textOf = (address: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
