// What production code imports from `cloudflare:workers`: the base classes, which keep what the runtime gives them.

class Entrypoint {
  readonly ctx: object;
  readonly env: object;

  constructor(ctx: object, env: object) {
    this.ctx = ctx;
    this.env = env;
  }
}

export class WorkerEntrypoint extends Entrypoint {}
export class DurableObject extends Entrypoint {}
