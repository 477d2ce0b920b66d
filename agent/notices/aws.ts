import * as z from "zod";
import { type Answer, ask, refuse } from "./metadata.ts";
import type { Notice, NoticeSource } from "./notice.ts";

/** Longest life of a token; one that ended is replaced. */
const tokenSeconds = 21_600;
/** What a header can carry: a login page in its place must not stay as the token. */
const tokenShape = /^[\x21-\x7e]+$/;

const InstanceAction = z.object({ action: z.string(), time: z.iso.datetime() });

/**
 * Spot interruptions, two minutes ahead, from the instance metadata service, version 2.
 * Source: EC2 User Guide, "Spot Instance interruption notices" and "Use IMDSv2".
 */
export function awsNotices({ metadataUrl }: { metadataUrl: string }): NoticeSource {
  let token: string | undefined;

  async function get(signal: AbortSignal): Promise<Answer> {
    token ??= await newToken(metadataUrl, signal);
    const headers = { "X-aws-ec2-metadata-token": token };
    return ask(metadataUrl, { path: "/latest/meta-data/spot/instance-action", headers }, signal);
  }

  async function look(signal: AbortSignal): Promise<Notice | undefined> {
    let answer = await get(signal);
    if (answer.status === 401) {
      token = undefined;
      answer = await get(signal);
    }
    if (answer.status === 404) return undefined;
    return answer.status === 200 ? toNotice(answer) : refuse(answer);
  }

  return { everyMs: 2_000, look };
}

async function newToken(metadataUrl: string, signal: AbortSignal): Promise<string> {
  const headers = { "X-aws-ec2-metadata-token-ttl-seconds": String(tokenSeconds) };
  const answer = await ask(
    metadataUrl,
    { method: "PUT", path: "/latest/api/token", headers },
    signal,
  );
  return answer.status === 200 && tokenShape.test(answer.text) ? answer.text : refuse(answer);
}

function toNotice({ text }: Answer): Notice {
  const { action, time } = InstanceAction.parse(JSON.parse(text));
  return {
    id: `${action} ${time}`,
    because: `AWS: ${action} at ${time}`,
    deadlineAt: Date.parse(time),
  };
}
