// Every named object in `wrangler dev` gets a table with its name, for wrangler's own tools. That is three rows and a
// commit before the first call, which no object on Cloudflare has. They would be in every figure of the bench, most of
// all in the floor's.

/**
 * To be called at the end of an object's constructor. The development server's own class extends it. Afterwards that
 * class's constructor writes its table by the object's next `blockConcurrencyWhile`. So the next one is let pass
 * unheeded; those that follow work as ever.
 */
export function withoutDevTable(ctx: DurableObjectState): void {
  const restore = () => Reflect.deleteProperty(ctx, "blockConcurrencyWhile");
  Object.defineProperty(ctx, "blockConcurrencyWhile", { value: restore, configurable: true });
  // Where there is no such class, nothing may be left behind for a call.
  queueMicrotask(restore);
}
