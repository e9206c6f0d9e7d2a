// The receiver, deployed with other settings for every request: the header `x-settings` holds, as JSON, what its environment
// is to have instead; `null` takes a setting or a binding away.

import { receive } from "../../../../receiver/src/webhook.ts";

export default {
  fetch: (request, env, ctx) => {
    const settings: Record<string, string | null> = JSON.parse(request.headers.get("x-settings") ?? "{}");
    const changed = Object.assign({ ...env }, settings);
    for (const [name, value] of Object.entries(settings)) {
      if (value === null) Reflect.deleteProperty(changed, name);
    }
    return receive(request, changed, ctx);
  },
} satisfies ExportedHandler<ReceiverEnv>;
