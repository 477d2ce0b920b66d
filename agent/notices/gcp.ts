import { ask, refuse } from "./metadata.ts";
import type { Notice, NoticeSource } from "./notice.ts";

/** What a VM has once it is told. */
const noticeMs = 30_000;
const pollSeconds = 60;
/** The endpoint answers at the end of the poll; later than that it hangs. */
const patienceMs = (pollSeconds + 10) * 1_000;

/**
 * Preemptions, half a minute ahead, from a request that is answered when the value changes.
 * Source: Compute Engine, "Spot VMs", and "Query metadata: wait for change".
 */
export function gcpNotices(
  { metadataUrl }: { metadataUrl: string },
  now: () => number,
): NoticeSource {
  /** Any other than the present one is answered at once. */
  let etag = "NONE";

  async function look(signal: AbortSignal): Promise<Notice | undefined> {
    const wait = { wait_for_change: "true", timeout_sec: String(pollSeconds), last_etag: etag };
    const path = `/computeMetadata/v1/instance/preempted?${new URLSearchParams(wait)}`;
    const headers = { "Metadata-Flavor": "Google" };
    const answer = await ask(metadataUrl, { path, headers, timeoutMs: patienceMs }, signal);
    const value = answer.text.trim();
    if (answer.status !== 200 || (value !== "TRUE" && value !== "FALSE")) refuse(answer);
    etag = answer.etag ?? "NONE";
    return value === "TRUE" ? notice(now()) : undefined;
  }

  return { everyMs: 1_000, look };
}

const notice = (now: number): Notice => ({
  id: "preempted",
  because: "GCP: the VM is preempted",
  deadlineAt: now + noticeMs,
});
