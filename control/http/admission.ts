import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type AppError, toAppError } from "../../common/errors.ts";
import { isStored, type Operation } from "../../common/operation.ts";
import { requireRole } from "../access/authorize.ts";
import type { Identity } from "../access/identity.ts";
import { audit } from "../audit/entry.ts";
import type { Context } from "../context.ts";
import { isExistingClient } from "../wire/versions.ts";
import { openProxies } from "./address.ts";
import { openCallers, refuseAnonymous } from "./callers.ts";
import type { Connections } from "./connections.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who calls; undefined where nobody logged in, which only open operations allow. */
    identity: Identity | undefined;
    /** The address that the call came from. */
    from: string;
  }
  interface FastifyContextConfig {
    /** The operation that a route serves. */
    readonly row?: Operation;
  }
}

/** Lets requests in by who makes them, before anything else of them is read. */
export interface Admission {
  /** Throws `AuthenticationError` or `PermissionDeniedError`; the latter is audited. */
  admit(req: FastifyRequest, reply: FastifyReply): Promise<void>;
}

/** Opens the door of a server. */
export function openAdmission(
  app: FastifyInstance,
  ctx: Context,
  connections: Connections,
): Admission {
  const proxies = openProxies(ctx.config.proxyAddresses);
  const callers = openCallers(ctx, app.server);
  app.decorateRequest("identity", undefined);
  app.decorateRequest("from", "");

  async function check(req: FastifyRequest): Promise<void> {
    req.from = proxies.clientOf(req.raw);
    req.identity = await callers.identify(req.raw);
    const { row } = req.routeOptions.config;
    if (req.identity === undefined) {
      // A control plane without logins is not even there for others.
      if (ctx.config.login.length === 0 || row?.access !== "open") refuseAnonymous(ctx);
      return;
    }
    connections.admit(req.raw.socket);
    if (row !== undefined && !isRefusedLater(row, req)) requireRole(row, req.identity);
  }

  return {
    async admit(req, reply) {
      try {
        await check(req);
      } catch (error) {
        const refusal = toAppError(error);
        if (refusal.type === "AuthenticationError") reply.header("connection", "close");
        await recordRefusal(ctx, req, refusal);
        throw error;
      }
    },
  };
}

/** Existing clients show an error of HTTP as it is, and the reason only of a request that failed. */
const isRefusedLater = (row: Operation, { headers }: FastifyRequest): boolean =>
  isStored(row) && isExistingClient(headers);

/** Refusals are answered also where they cannot be written down. */
async function recordRefusal(
  ctx: Context,
  { id, identity, from, routeOptions }: FastifyRequest,
  refusal: AppError,
): Promise<void> {
  const { row } = routeOptions.config;
  if (row === undefined) return;
  const call = { row, input: {}, identity, address: from, requestId: id, refusal };
  await audit(ctx, call).catch((err: unknown) => ctx.log.warn({ err }, "refusal not written down"));
}
