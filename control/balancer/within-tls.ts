import type { TLSSocket } from "node:tls";
import type { Address } from "../../sidecar/forward/route.ts";
import { keepAliveMs } from "../../sidecar/forward/sockets.ts";
import type { Place } from "./probe.ts";

/** A server that speaks TLS. As with probes, its certificate is not checked: the address is control's. */
export const withinTls = ({ host, port }: Place): Address => ({
  connect() {
    const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
    const { connect } = process.getBuiltinModule("node:tls");
    const socket = connect({ host, port, rejectUnauthorized: false });
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    socket.once("error", reject).once("secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
    return promise;
  },
});
