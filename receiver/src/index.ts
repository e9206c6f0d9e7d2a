// The receiver's entry module: webhooks over HTTP, and the Intake entrypoint.

import { receive } from "./webhook.ts";

export { Intake } from "./intake.ts";

export default {
  fetch: (request, env, ctx) => receive(request, env, ctx),
} satisfies ExportedHandler<ReceiverEnv>;
