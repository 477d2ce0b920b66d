import type { IncomingHttpHeaders } from "node:http";
import { product } from "../../common/product.ts";

/** The token of `Authorization: Bearer`, of whatever kind it is. */
export const bearerOf = ({ authorization }: IncomingHttpHeaders): string | undefined =>
  authorization === undefined ? undefined : /^bearer +(\S+)$/i.exec(authorization)?.[1];

/** The value of `WWW-Authenticate` for a call that is answered 401. Source: RFC 6750, section 3. */
export const challengeTo = (headers: IncomingHttpHeaders): string =>
  `Bearer realm="${product.word}"${bearerOf(headers) === undefined ? "" : ', error="invalid_token"'}`;
