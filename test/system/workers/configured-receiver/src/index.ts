// The receiver, deployed with other settings for every request. The header `x-settings` holds, as JSON, what its
// environment is to have instead. `null` takes a setting or a binding away. `{ "as": name }` binds what is bound under
// that name.

import { receive } from "../../../../../receiver/src/webhook.ts";

export default {
  fetch: (request, env, ctx) => {
    const settings: Record<string, string | { as: string } | null> = JSON.parse(
      request.headers.get("x-settings") ?? "{}",
    );
    const changed = { ...env };
    for (const [name, value] of Object.entries(settings)) {
      if (value === null) Reflect.deleteProperty(changed, name);
      else Reflect.set(changed, name, typeof value === "string" ? value : Reflect.get(env, value.as));
    }
    return receive(request, changed, ctx);
  },
} satisfies ExportedHandler<ReceiverEnv>;
