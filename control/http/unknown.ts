import type { FastifyReply, FastifyRequest } from "fastify";
import { type Operation, routeOf } from "../../common/operation.ts";
import { pageRoutes } from "./site.ts";

/** Answers what no row fits: 405 where the path takes other methods, 404 otherwise. */
export function answerUnknown(rows: readonly Operation[]) {
  const routes = [...rows.map(routeOf), ...pageRoutes];
  const known = routes.map(({ method, path }) => ({ method, fits: patternOf(path) }));
  return ({ method, url }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const [path = ""] = url.split("?");
    const methods = known.filter(({ fits }) => fits.test(path)).map((route) => route.method);
    if (methods.length === 0) {
      const detail = `there is no ${method} ${path}; /docs lists what there is`;
      return reply.code(404).send({ detail, type: "NotFoundError" });
    }
    const allowed = methods.join(", ");
    const detail = `${path} takes ${allowed}, not ${method}`;
    return reply.code(405).header("allow", allowed).send({ detail, type: "NotSupportedError" });
  };
}

const patternOf = (path: string): RegExp =>
  new RegExp(`^${path.replace("/{full_path}", "(/.*)?").replace(/\{\w+\}/g, "[^/]+")}/?$`);
