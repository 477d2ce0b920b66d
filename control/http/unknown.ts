import type { FastifyReply, FastifyRequest } from "fastify";
import { type Operation, routeOf } from "../../common/operation.ts";
import { pageRoutes } from "./site.ts";

/** Answers what no row fits: 405 where the path takes other methods, 404 otherwise. */
export function answerUnknown(rows: readonly Operation[]) {
  let patterns: { method: string; fits: RegExp }[] | undefined;
  return ({ method, url }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    patterns ??= [...rows.map(routeOf), ...pageRoutes].map(toPattern);
    const [path = ""] = url.split("?");
    const methods = patterns.filter(({ fits }) => fits.test(path)).map((route) => route.method);
    if (methods.length === 0) {
      const detail = `there is no ${method} ${path}; /docs lists what there is`;
      return reply.code(404).send({ detail, type: "NotFoundError" });
    }
    const allowed = methods.join(", ");
    const detail = `${path} takes ${allowed}, not ${method}`;
    return reply.code(405).header("allow", allowed).send({ detail, type: "NotSupportedError" });
  };
}

function toPattern({ method, path }: { method: string; path: string }) {
  const text = path.replace("/{full_path}", "(/.*)?").replace(/\{\w+\}/g, "[^/]+");
  return { method, fits: new RegExp(`^${text}/?$`) };
}
