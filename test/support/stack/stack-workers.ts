// Which Workers an in-process stack has, and how a test may have some of them otherwise. Called by stack.ts.

import type { ProductWorker } from "./workers.ts";

export type ReceiverSecrets = { SUME_WEBHOOK_SECRET?: string; SUME_WEBHOOK_SECRET_PREVIOUS?: string };

export type WorkerOptions = {
  /** Variables by Worker name, over those of a local run. */
  vars?: Record<string, Record<string, string>>;
  /** The folder in test/system/workers whose config the receiver gets. */
  receiver?: string;
  /** The same for the artifact archive. */
  archive?: string;
  /** Bindings of the receiver replaced by Workers of this stack. */
  receiverBindings?: Record<string, string>;
  /** The same for the artifact archive. */
  archiveBindings?: Record<string, string>;
  /** Folders in test/system/workers of further Workers. */
  workers?: readonly string[];
};

/** In every stack: a scripted consumer, a namespace «other» beside the first, and what Node calls from inside. */
const BESIDE = ["scripted", "refusing-queue", "operator", "caller", "receiver-other", "scripted-other"];
const supportConfig = (name: string) => `test/support/workers/${name}/wrangler.jsonc`;
const systemConfig = (name: string) => `test/system/workers/${name}/wrangler.jsonc`;

/** What the harness is to run: the product's Workers, and those beside them. The receivers get these secrets. */
export function stackWorkers(
  product: readonly ProductWorker[],
  { vars = {}, workers = [], ...options }: WorkerOptions,
  receiverSecrets: ReceiverSecrets,
) {
  const ours = product.map((worker) => ({
    configPath: configOf(worker, options),
    vars: { ...worker.vars, ...vars[worker.name] },
    secrets: worker.name === "receiver" ? { ...receiverSecrets } : worker.secrets,
    bindingOverrides: bindingsOf(worker, options) ?? {},
  }));
  const beside = (name: string, configPath: string) => ({
    configPath,
    vars: vars[name] ?? {},
    secrets: name === "receiver-other" ? { ...receiverSecrets } : {},
  });
  return [
    ...ours,
    ...BESIDE.map((name) => beside(name, supportConfig(name))),
    ...workers.map((name) => beside(name, systemConfig(name))),
  ];
}

function configOf({ name, config }: ProductWorker, { receiver, archive }: WorkerOptions): string {
  switch (name) {
    case "receiver": // with one more consumer
      return receiver === undefined ? supportConfig("receiver") : systemConfig(receiver);
    case "artifact-archive":
      return archive === undefined ? config : systemConfig(archive);
    case "reconciler": // with one more namespace
      return supportConfig("reconciler");
    default:
      return config;
  }
}

function bindingsOf({ name }: ProductWorker, options: WorkerOptions): Record<string, string> | undefined {
  if (name === "receiver") return options.receiverBindings;
  return name === "artifact-archive" ? options.archiveBindings : undefined;
}
