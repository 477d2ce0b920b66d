import { serveOperations } from "../contract/operations/serve.ts";
import type { ServiceStatusRecord } from "../contract/records/services.ts";
import type { Client } from "./sdk.ts";
import type { Kind } from "./selection.ts";

/** The services that the words name; all when there are no words. */
export const listServices = (
  client: Client,
  names: readonly string[],
): Promise<ServiceStatusRecord[]> =>
  client.callAndGet(serveOperations.status, {
    service_names: names.length > 0 ? [...names] : null,
  });

/** Services, as command lines name them. */
export const services: Kind<ServiceStatusRecord> = {
  noun: "service",
  missing: "NotFoundError",
  lister: "serve status",
  list: listServices,
};
