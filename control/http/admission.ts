import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type AppError, toAppError } from "../../common/errors.ts";
import { isStored, type Operation } from "../../common/operation.ts";
import { requireRole } from "../access/authorize.ts";
import type { Identity } from "../access/identity.ts";
import { loginPath } from "../access/places.ts";
import { openProxies } from "../access/proxies.ts";
import { type AuditedCall, recordRefusal } from "../audit/entry.ts";
import type { Context } from "../context.ts";
import { isExistingClient } from "../wire/versions.ts";
import { openCallers, refuseAnonymous } from "./callers.ts";
import type { Connections } from "./connections.ts";
import { refuseForeignPages } from "./origin.ts";
import { openPace } from "./pace.ts";
import type { Route } from "./routes.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Who calls; undefined where nobody logged in, which only open operations allow. */
    identity: Identity | undefined;
    /** The address that the call came from. */
    from: string;
    /** The address that the client called control by: that of the settings, else what it says. */
    readonly site: string;
    /** What is called; undefined for a page, and where there is nothing. */
    route: Route | undefined;
  }
}

/** Lets requests in by who makes them, before anything else of them is read. */
export interface Admission {
  /**
   * Throws `AuthenticationError` or `PermissionDeniedError`, which is audited. A browser that asks for
   * a page is sent to log in instead.
   */
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
  const pace = openPace(ctx);
  app.decorateRequest("identity", undefined);
  app.decorateRequest("from", "");
  app.decorateRequest("site", {
    getter() {
      return ctx.config.publicUrl ?? proxies.siteOf(this.raw);
    },
  });
  const hasLogin = ctx.config.login.length > 0;

  async function check(req: FastifyRequest, reply: FastifyReply): Promise<void> {
    req.from = proxies.clientOf(req.raw);
    refuseForeignPages(req, hasLogin);
    req.identity = await callers.identify(req.raw).catch((error) => pace.failed(req.from, error));
    const row = req.route?.row;
    if (req.identity === undefined) {
      // A control plane without logins is not even there for others.
      if (hasLogin && row?.access === "open") return;
      if (!hasLogin || !isPageRequest(req)) refuseAnonymous(ctx);
      reply.redirect(loginPath(req.url));
      return;
    }
    connections.admit(req.raw.socket);
    pace.called(req.identity);
    if (row !== undefined && !isRefusedLater(row, req)) requireRole(row, req.identity);
  }

  return {
    async admit(req, reply) {
      try {
        await check(req, reply);
      } catch (error) {
        const refusal = toAppError(error);
        const row = req.route?.row;
        if (refusal.type === "AuthenticationError") reply.header("connection", "close");
        if (row !== undefined) await recordRefusal(ctx, refusedCallOf(row, req, refusal));
        throw error;
      }
    },
  };
}

/** Whether a browser asks, which shows what it is answered to a person. */
export const wantsPage = ({ headers }: FastifyRequest): boolean =>
  headers.accept?.includes("text/html") === true;

/** Whether a person opens a page, one that is no row included. */
const isPageRequest = (req: FastifyRequest): boolean =>
  req.method === "GET" && (req.route?.row.mode ?? "page") === "page" && wantsPage(req);

/** Existing clients show an error of HTTP as it is, and the reason only of a request that failed. */
const isRefusedLater = (row: Operation, { headers }: FastifyRequest): boolean =>
  isStored(row) && isExistingClient(headers);

const refusedCallOf = (
  row: Operation,
  { id, identity, from }: FastifyRequest,
  refusal: AppError,
): AuditedCall => ({ row, input: {}, identity, address: from, requestId: id, refusal });
