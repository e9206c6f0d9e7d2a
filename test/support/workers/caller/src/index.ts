// A Worker with bindings to the ledger under several identities, and some that carry none. It makes the calls it is
// told to and tells how each went. An error is met inside the runtime, as a consumer meets it, and handed out as a
// value.

import { WorkerEntrypoint } from "cloudflare:workers";
import { answerCall } from "../../remote/answer-calls.ts";

type Bound = Record<string, Record<string, (args: unknown) => Promise<unknown>>>;
type Called = { value: unknown } | { error: { name: string; code?: string; message: string } };

export default class Caller extends WorkerEntrypoint<Bound> {
  override fetch(request: Request): Promise<Response> {
    return answerCall(request, this);
  }

  async call(binding: string, method: string, args: unknown): Promise<Called> {
    try {
      return { value: await this.env[binding]?.[method]?.(args) };
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const { name, message } = error;
      return { error: { name, message, ...("code" in error && { code: String(error.code) }) } };
    }
  }
}
