// A receiver without the ledger, for comparison. It verifies with the product's own code, and asks the store in the
// path whether this delivery is the first. If so, it puts the event on the consumers' queues. `/verify-only` asks
// nobody and sends nothing. How many consumers there are is in the query: `?consumers=2`. `/one-table-timed` has one,
// and counts nothing.
// Leaves out what the product adds: an event that is kept, a lease, a retry. A copy is told that all is well while the
// first may still fail.

import { importKey, signedPrefix } from "../../../../../../receiver/src/hmac.ts";
import { parseEvent, readBody } from "../../../../../../receiver/src/body.ts";
import { readSignatureSettings } from "../../../../../../receiver/src/settings.ts";
import { checkSignature } from "../../../../../../receiver/src/signature.ts";
import { insertJob } from "./d1.ts";
import type { OneTable } from "./one-table.ts";

export { CountedOneTable, OneTable } from "./one-table.ts";

type Message = { jobId: string; event: string };
type Env = {
  SUME_WEBHOOK_SECRET: string;
  ONE_TABLE: DurableObjectNamespace<OneTable>;
  COUNTED_ONE_TABLE: DurableObjectNamespace<OneTable>;
  DB: D1Database;
  TIMED: Queue<Message>;
  FIRST: Queue<Message>;
  SECOND: Queue<Message>;
};

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    const timestamp = request.headers.get("x-sume-webhook-timestamp");
    const signature = request.headers.get("x-sume-webhook-signature");
    const prefix = signedPrefix(timestamp ?? "");
    const signed = await readBody(request, prefix);
    if (signed === null) return new Response("too large\n", { status: 413 });
    const { secrets, toleranceSeconds } = readSignatureSettings({ ...env });
    const keys = await Promise.all(secrets.map(importKey));
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const check = await checkSignature({ timestamp, signature, signed }, keys, { nowSeconds, toleranceSeconds });
    if (!check.valid) return new Response("unauthorized\n", { status: 401 });
    const event = parseEvent(signed.subarray(prefix.length));
    if ("problem" in event) return new Response("bad event\n", { status: 400 });
    if (pathname === "/verify-only") return Response.json({ jobId: event.jobId }, { status: 202 });

    const { jobId } = event;
    const isTimed = pathname === "/one-table-timed";
    const { first, ...cost } =
      pathname === "/d1"
        ? await insertJob(env.DB, jobId)
        : { first: await askOneTable(isTimed ? env.ONE_TABLE : env.COUNTED_ONE_TABLE, jobId) };
    if (!first) return Response.json({ jobId, outcome: "duplicate", ...cost });
    const queues = isTimed ? [env.TIMED] : [env.FIRST, env.SECOND].slice(0, Number(searchParams.get("consumers")));
    await Promise.all(queues.map((queue) => queue.send({ jobId, event: event.body })));
    return Response.json({ jobId, outcome: "accepted", ...cost }, { status: 202 });
  },
} satisfies ExportedHandler<Env>;

async function askOneTable(objects: DurableObjectNamespace<OneTable>, jobId: string): Promise<boolean> {
  const response = await objects.getByName(jobId).fetch("https://ledger/", { method: "POST", body: jobId });
  return (await response.text()) === "first";
}
