// Flaws of the receiver: what it believes, in which order it acts, and what it answers. And of the Workers behind it.

import { type Flaw, TESTS } from "./flaw.ts";

const signature = "receiver/src/signature.ts";
const hmac = "receiver/src/hmac.ts";
const settings = "receiver/src/settings.ts";
const webhook = "receiver/src/webhook.ts";
const delivery = "receiver/src/delivery.ts";
const body = "receiver/src/body.ts";
const answers = "receiver/src/answers.ts";

export const RECEIVER: readonly Flaw[] = [
  {
    name: "a signature is compared by its first half",
    file: signature,
    find: "index < ENTRY_LENGTH;",
    replace: "index < ENTRY_LENGTH / 2;",
    tests: [TESTS.signature],
  },
  {
    name: "only the first signature entry is looked at",
    file: signature,
    find: 'header.split(",")',
    replace: 'header.split(",", 1)',
    tests: [TESTS.signature],
  },
  {
    name: "the space after a comma is part of the entry",
    file: signature,
    find: "(text === entry ? 0 : entry.indexOf(text))",
    replace: "0",
    tests: [TESTS.signature],
  },
  {
    name: "a character beyond ASCII shifts the entries behind it",
    file: signature,
    find: "bytes.length === text.length ? bytes : ",
    replace: "bytes.length > 0 ? bytes : ",
    tests: [TESTS.signature],
  },
  {
    name: "a body is cut to what its first piece brings",
    file: body,
    find: "readAtLeast(buffer.length - read.length, ",
    replace: "readAtLeast(1, ",
    tests: [TESTS.readBody],
  },
  {
    name: "a body that is only announced is held whole",
    file: body,
    find: "Math.min(bytes, declared ?? bytes)",
    replace: "declared ?? bytes",
    tests: [TESTS.readBody],
  },
  {
    name: "every piece of a body is kept, however small",
    file: body,
    find: "  const reader = request.body.getReader",
    replace:
      "  if (declared === null) {\n    const pieces = [prefix];\n" +
      "    for await (const piece of request.body) pieces.push(piece);\n" +
      "    const whole = await new Blob(pieces).bytes();\n" +
      "    return whole.length > prefix.length + MAX_EVENT_BODY_BYTES ? null : whole;\n  }\n" +
      "  const reader = request.body.getReader",
    tests: [TESTS.readBody],
    peer: "an unauthenticated body in one-byte chunks: each chunk keeps a page",
  },
  {
    name: "an old timestamp is refused, one ahead is not",
    file: signature,
    find: "seconds < -MAX_AHEAD_SECONDS",
    replace: "seconds < -Infinity",
    tests: [TESTS.signature],
  },
  {
    name: "an old timestamp is accepted",
    file: signature,
    find: "seconds > toleranceSeconds",
    replace: "seconds > Infinity",
    tests: [TESTS.signature],
  },
  {
    name: "a timestamp at the tolerance is refused",
    file: signature,
    find: "seconds > toleranceSeconds",
    replace: "seconds >= toleranceSeconds",
    tests: [TESTS.signature],
  },
  {
    name: "an old delivery is told to be old before its signature is checked",
    file: signature,
    find: "  const candidates = startsOfEntries(signature);",
    replace:
      "  const early = checkAge(nowSeconds - Number(timestamp), toleranceSeconds);\n" +
      "  if (!early.valid) return early;\n  const candidates = startsOfEntries(signature);",
    tests: [TESTS.signature],
  },
  {
    name: "a signed delivery refused for its age alone is a line like a forged one's",
    file: webhook,
    find: 'jobId, seconds }, "error");',
    replace: "jobId, seconds });",
    tests: [TESTS.signed],
  },
  {
    name: "the tolerance is shorter than Sume's own attempts",
    file: settings,
    find: "DEFAULT_TOLERANCE_SECONDS = 600;",
    replace: "DEFAULT_TOLERANCE_SECONDS = 300;",
    tests: [TESTS.configuration],
    peer: "a tolerance for timestamps that is shorter than the sender's own retries",
  },
  {
    name: "a timestamp with text behind it passes every tolerance",
    file: signature,
    find: "/^\\d{1,12}$/",
    replace: "/^\\d{1,12}/",
    tests: [TESTS.signature],
  },
  {
    name: "any signature entry of the right form will do",
    file: signature,
    find: "candidates.some((start) => isSame(header, start, expected))",
    replace: "candidates.length > 0 && expected.length > 0",
    tests: [TESTS.signature],
  },
  {
    name: "the previous secret is ignored by the check",
    file: signature,
    find: "candidates.length === 0 ? [] : keys)",
    replace: "candidates.length === 0 ? [] : keys.slice(0, 1))",
    tests: [TESTS.signature],
  },
  {
    name: "the timestamp is not signed",
    file: hmac,
    find: "encoder.encode(`${timestamp}.`)",
    replace: "encoder.encode(timestamp.slice(0, 0))",
    tests: [TESTS.signature],
  },
  {
    name: "the body's text is signed, not its bytes",
    file: hmac,
    find: 'crypto.subtle.sign("HMAC", key, signed)',
    replace: 'crypto.subtle.sign("HMAC", key, encoder.encode(new TextDecoder().decode(signed)))',
    tests: [TESTS.signature],
    peer: "UTF-8 is mended before it is verified",
  },
  {
    name: "the first secret's key is taken for every other's",
    file: hmac,
    find: "const known = keys.get(secret);",
    replace: "const known = keys.values().next().value;",
    tests: [TESTS.signature],
  },
  {
    name: "the previous secret is not read",
    file: settings,
    find: "[env.SUME_WEBHOOK_SECRET, env.SUME_WEBHOOK_SECRET_PREVIOUS]",
    replace: "[env.SUME_WEBHOOK_SECRET]",
    tests: [TESTS.configuration],
  },
  {
    name: "an empty secret is a secret",
    file: settings,
    find: 'typeof value === "string" && value.trim() !== ""',
    replace: 'typeof value === "string"',
    tests: [TESTS.configuration],
  },
  {
    name: "more consumers than the ledger takes are found out by a refused complete",
    file: settings,
    find: "queues.size > MAX_DISPATCHED_TO",
    replace: "queues.size > 10 * MAX_DISPATCHED_TO",
    tests: [TESTS.configuration],
  },
  {
    name: "the job is claimed before the signature is checked",
    file: webhook,
    find: '  if (!check.valid && check.outcome === "unauthorized") {',
    replace:
      "  const early = parseEvent(signed.subarray(prefix.length));\n" +
      '  if (!("problem" in early)) {\n' +
      '    const [token, believed] = ["early", { type: early.type, body: early.body, source: "webhook" } as const];\n' +
      "    await env.LEDGER.claim({ jobId: early.jobId, event: believed, token });\n" +
      "    if (check.valid) await env.LEDGER.release({ jobId: early.jobId, token });\n  }\n" +
      '  if (!check.valid && check.outcome === "unauthorized") {',
    tests: [TESTS.signed],
    peer: "deduplicating by an id from an unverified request",
  },
  {
    name: "the record is kept under job and timestamp",
    file: webhook,
    find: "const { jobId, type } = event;",
    replace: "const { type } = event;\n  const jobId = `${event.jobId}@${timestamp}`;",
    tests: [TESTS.deliveries],
    peer: "a record kept under timestamp and signature: a re-signed retry counts as new",
  },
  {
    name: "the answer is given before anything is sent",
    file: webhook,
    find: "const delivery = await deliver(env.LEDGER, queues, { jobId, event: brought }, deadline, ctx);",
    replace:
      "ctx.waitUntil(deliver(env.LEDGER, queues, { jobId, event: brought }, deadline, ctx));\n" +
      '  const delivery = { outcome: "accepted" as const, dispatchedTo: [...queues.keys()], attempt: 1 };',
    tests: [TESTS.deliveries],
    peer: "the ledger row is written after the acknowledgement",
  },
  {
    name: "the job is completed before its messages are sent",
    file: delivery,
    find: "const consumers = [...queues.keys()];",
    replace:
      "const consumers = [...queues.keys()];\n  await ledger.complete({ jobId, token, dispatchedTo: consumers });",
    tests: [TESTS.deliveries],
    peer: "complete before dispatch",
  },
  {
    name: "a queue that refuses is passed over",
    file: delivery,
    find: "} catch {\n        return [consumer];",
    replace: "} catch {\n        return [];",
    tests: [TESTS.deliveries],
    peer: "a swallowed error",
  },
  {
    name: "a copy of a delivery that is being worked on is answered with success",
    file: answers,
    find: 'case "in_progress": {',
    replace: 'case "in_progress": {\n      if (now > 0) return Response.json({ jobId, outcome: "duplicate" });',
    tests: [TESTS.ledgerTrouble],
    peer: "an in-flight duplicate is answered with success although the first may still fail",
  },
  {
    name: "an unavailable ledger is answered with success",
    file: answers,
    find: 'case "ledger_unavailable":',
    replace:
      'case "ledger_unavailable":\n      if (now > 0) return Response.json({ jobId, outcome: "accepted" }, { status: 202 });',
    tests: [TESTS.ledgerTrouble],
    peer: "storage errors swallowed, failing open",
  },
  {
    name: "a completion that failed is answered with success",
    file: delivery,
    find: "error: errorName(error), attempt };\n  }\n}",
    replace:
      'error: errorName(error), attempt };\n  } finally {\n    return { outcome: "accepted", dispatchedTo: consumers, attempt };\n  }\n}',
    tests: [TESTS.ledgerTrouble],
    peer: "storage errors swallowed, failing open",
  },
  {
    name: "a hanging ledger hangs the delivery",
    file: "receiver/src/deadline.ts",
    find: "return withTimeout(promise, this.leftMs());",
    replace: "return this.#at > 0 ? promise : withTimeout(promise, 0);",
    tests: [TESTS.ledgerTrouble],
    peer: "storage errors swallowed so that the request hangs",
  },
  {
    name: "a delivery waits for a claim longer than it has time",
    file: delivery,
    find: "Math.max(0, Math.min(WAIT_MS, deadline.leftMs() - RESERVE_MS))",
    replace: "Math.max(WAIT_MS, 0 * RESERVE_MS)",
    tests: [TESTS.delivery],
  },
  {
    name: "a claim that is granted too late is left to its lease",
    file: delivery,
    find: "background.waitUntil(giveBackLate(ledger, claiming, { jobId, token }));",
    replace: 'if (jobId === "") background.waitUntil(giveBackLate(ledger, claiming, { jobId, token }));',
    tests: [TESTS.delivery],
  },
  {
    name: "UTF-8 is mended",
    file: body,
    find: "fatal: true",
    replace: "fatal: false",
    tests: [TESTS.body],
    peer: "bytes that are not what was signed",
  },
  {
    name: "a byte order mark is stripped",
    file: body,
    find: "ignoreBOM: true",
    replace: "ignoreBOM: false",
    tests: [TESTS.body],
  },
  {
    name: "a compressed body is refused as a wrong signature",
    file: webhook,
    find: "if (coding !== null) return",
    replace: 'if (coding === "") return',
    tests: [TESTS.body],
    peer: "a compressed body refused as a bad signature, with nothing that says why",
  },
  {
    name: "a body without a declared length may be of any",
    file: body,
    find: "MAX_EVENT_BODY_BYTES + 1] as const",
    replace: "MAX_EVENT_BODY_BYTES + 1, 4 * MAX_EVENT_BODY_BYTES] as const",
    tests: [TESTS.body],
  },
  {
    name: "the ledger keeps the event as parsed and serialised again",
    file: body,
    find: "type: parsed.output.event, body };",
    replace: "type: parsed.output.event, body: JSON.stringify(payload) };",
    tests: [TESTS.body],
  },
  {
    name: "events are taken in for another namespace",
    file: "receiver/src/intake.ts",
    find: "if (namespace !== own.namespace) {",
    replace: 'if (namespace === "") {',
    tests: [TESTS.intake],
  },
  {
    name: "a job is dispatched again to those who have finished, too",
    file: "receiver/src/intake.ts",
    find: "const refused = await dispatch(queues, jobId, bound, deadline);",
    replace: "const refused = await dispatch(queues, jobId, [...queues.keys()], deadline);",
    tests: [TESTS.intake],
  },
  {
    name: "a late writer's row replaces the later one",
    file: "consumers/job-index/src/index.ts",
    find: "\n  WHERE excluded.fence > jobs.fence`",
    replace: "`",
    tests: [TESTS.jobIndex],
    peer: "no fencing",
  },
  {
    name: "an upload in parts that fails stays open",
    file: "consumers/artifact-archive/src/index.ts",
    find: "await upload.abort().catch(() => undefined);",
    replace: "",
    tests: [TESTS.archive],
  },
  {
    name: "an artifact that is not stored keeps its connection",
    file: "consumers/artifact-archive/src/index.ts",
    find: "await body?.cancel().catch(() => undefined);",
    replace: "",
    tests: [TESTS.archive],
  },
  {
    name: "an event that the receiver could not take is taken for brought",
    file: "consumers/reconciler/src/reconcile.ts",
    find: 'outcome === "accepted" || outcome === "redispatched" || outcome === "duplicate"',
    replace: 'outcome !== ""',
    tests: [TESTS.reconciler],
    peer: "a swallowed error",
  },
  {
    name: "an answer of Sume's is read to its end before it is found too long",
    file: "consumers/reconciler/src/sume.ts",
    find: 'if (body === null) return "";',
    replace:
      'if (body === null) return "";\n  const text = await new Response(body).text();\n' +
      "  if (text.length >= 0) return text.length > MAX_EVENT_BODY_BYTES ? null : text;",
    tests: [TESTS.sume],
  },
  {
    name: "a consumer without a queue is asked for again and again",
    file: "consumers/reconciler/src/reconcile.ts",
    find: 'if (sent.outcome === "no_queue") return',
    replace: 'if (sent.outcome === "") return',
    tests: [TESTS.reconciler],
  },
  {
    name: "a message that is no alert comes again",
    file: "consumers/reconciler/src/alerts.ts",
    find: 'return { outcome: "malformed", level: "error", detail };',
    replace: 'return { outcome: "malformed", level: "error", detail, retryAfterMs: 0 };',
    tests: [TESTS.reconciler],
  },
];
