import * as z from "zod";
import { ask, refuse } from "./metadata.ts";
import type { Notice, NoticeSource } from "./notice.ts";

/** The first answer may take two minutes, until the service is switched on for the VM. */
const firstPatienceMs = 130_000;
const patienceMs = 5_000;
const headers = { Metadata: "true" };

/** Those that take the VM away; the others freeze it, move it or start it again. */
const endings = ["Preempt", "Terminate"];

const ScheduledEvents = z.object({
  Events: z.array(
    z.object({
      EventId: z.string(),
      EventType: z.string(),
      Resources: z.array(z.string()).default([]),
      /** RFC 1123; empty once it has begun. */
      NotBefore: z.string().default(""),
    }),
  ),
});

/**
 * Evictions and deletions from the scheduled events of the metadata service, which tells every VM
 * of a set about all of them. Source: Azure, "Scheduled Events for Linux VMs", version 2020-07-01.
 */
export function azureNotices(
  { metadataUrl }: { metadataUrl: string },
  now: () => number,
): NoticeSource {
  let timeoutMs = firstPatienceMs;
  let name: string | undefined;

  async function look(signal: AbortSignal): Promise<Notice | undefined> {
    const path = "/metadata/scheduledevents?api-version=2020-07-01";
    const answer = await ask(metadataUrl, { path, headers, timeoutMs }, signal);
    if (answer.status !== 200) refuse(answer);
    timeoutMs = patienceMs;
    const { Events } = ScheduledEvents.parse(JSON.parse(answer.text));
    const ends = Events.filter(({ EventType }) => endings.includes(EventType));
    if (ends.length === 0) return undefined;
    name ??= await nameOf(metadataUrl, signal);
    const own = name.toLowerCase();
    const found = ends.find(({ Resources }) => Resources.some((one) => one.toLowerCase() === own));
    return found && toNotice(found, now());
  }

  return { everyMs: 2_000, look };
}

/** The VM's own name. */
async function nameOf(metadataUrl: string, signal: AbortSignal): Promise<string> {
  const path = "/metadata/instance/compute/name?api-version=2021-02-01&format=text";
  const answer = await ask(metadataUrl, { path, headers }, signal);
  return answer.status === 200 ? answer.text.trim() : refuse(answer);
}

type Event = z.output<typeof ScheduledEvents>["Events"][number];

function toNotice({ EventId, EventType, NotBefore }: Event, now: number): Notice {
  const deadlineAt = NotBefore === "" ? now : Date.parse(NotBefore);
  if (Number.isNaN(deadlineAt)) throw new Error(`${NotBefore} is not a time`);
  return { id: `${EventId} ${NotBefore}`, because: `Azure: ${EventType}`, deadlineAt };
}
