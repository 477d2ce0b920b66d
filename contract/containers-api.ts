import * as z from "zod";
import { innerOperations } from "../common/operation.ts";
import { imageName } from "./task/image.ts";

/** How a node runs scripts in a container. */

/** The container that scripts of a node run in. */
export const ContainerSettings = z.object({
  clusterId: z.string().min(1),
  image: z.string().regex(imageName, "must be the name of an image"),
  /** Words for `docker run`, before the image. */
  runOptions: z.array(z.string()).default([]),
});
export type ContainerSettings = z.output<typeof ContainerSettings>;

/** What a registry asks for. */
const RegistryLogin = z.object({
  server: z.string().min(1),
  user: z.string().min(1),
  password: z.string(),
});
export type RegistryLogin = z.output<typeof RegistryLogin>;

/** The name of an image with the server that one logs in to. */
export const imageAt = (name: string, login: RegistryLogin | null | undefined): string =>
  login && !name.startsWith(`${login.server}/`) ? `${login.server}/${name}` : name;

/** The same, with what the registry asks for. */
export const ContainerOrder = ContainerSettings.extend({
  /** In no command line, and nowhere once the image is there. */
  login: RegistryLogin.nullable(),
});
export type ContainerOrder = z.output<typeof ContainerOrder>;

/** A line of news: what happens, if anything did lately; the last one says how it ended. */
export const ContainerNews = z.union([
  z.object({ line: z.string().nullable() }),
  z.object({ done: z.string() }),
  z.object({ problem: z.object({ type: z.string(), message: z.string() }) }),
]);
export type ContainerNews = z.output<typeof ContainerNews>;

/** The part of the agent's API that is about its container. */
export const containerOperations = innerOperations({
  putContainer: {
    route: "PUT /container",
    mode: "stream",
    summary:
      "Run all scripts in a container of this image from now on, also after the node or the agent was away. The image is pulled unless the node has it; news come every second.",
    input: { body: ContainerOrder },
    output: z.unknown(),
    errors: ["ConflictError"],
  },
});
