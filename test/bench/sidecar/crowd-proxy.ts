import { engines } from "../../../sidecar/forward/engines.ts";
import { always } from "../../../sidecar/forward/route.ts";
import { serve } from "../../../sidecar/forward/serve.ts";

/** The forwarding core with as many listeners as it is told, for any request. */
const [upstreamPort = "", listeners = ""] = process.argv.slice(2);
const seconds = 1_000;
const serving = await serve(
  {
    limits: {
      ...{ connections: 10_000, headBytes: 16_384, headCount: 100 },
      ...{ stripAuthorization: false, trustForwarded: false, breaksOff: false },
      ...{ headMs: 60 * seconds, idleMs: 60 * seconds, stalledMs: 60 * seconds },
      ...{ connectMs: 60 * seconds, upstreamMs: 60 * seconds },
    },
    authorize: () => "",
    choose: always({ host: "127.0.0.1", port: Number(upstreamPort) }),
    observer: { wantsPath: false, ended() {} },
    engine: await engines.splice(),
  },
  { host: "127.0.0.1", port: 0, listeners: Number(listeners) },
);
process.send?.({ port: serving.address.port });
