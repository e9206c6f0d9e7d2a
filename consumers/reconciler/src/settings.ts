// The reconciler's configuration for one namespace: Sume's API and its key, the namespace's receiver, the ledger.

import {
  type AdminCancelExpectationArgs,
  type CancelExpectationOutcome,
  type LedgerEvent,
  SettingsError,
} from "job-ledger/contract";

export type Intake = {
  ingest(args: { namespace: string; jobId: string; event: LedgerEvent }): Promise<{ outcome: string }>;
  redispatch(args: { namespace: string; jobId: string; pending: string[] }): Promise<{
    outcome: string;
    /** With `no_queue`: the consumers that have none. */
    consumers?: string[];
  }>;
};
export type LedgerAdmin = {
  cancelExpectation(args: AdminCancelExpectationArgs): Promise<CancelExpectationOutcome>;
};
/** The environment. A binding or secret that is named after a namespace is looked up by its name. */
export type Bindings = { LEDGER_ADMIN: LedgerAdmin; [name: string]: unknown };
/** The functions read a setting when an alert needs it: no alert fails for a setting that it does not use. */
export type Settings = {
  sume(): { apiUrl: string; apiKey: string; keyName: string };
  intake(): Intake;
  admin: LedgerAdmin;
};

/** What it answers throws a `SettingsError` for a setting that is missing or malformed. */
export function readSettings(env: Bindings, namespace: string): Settings {
  const suffix = namespace.toUpperCase().replaceAll("-", "_");
  return {
    admin: env.LEDGER_ADMIN,
    intake: () => {
      const intake = env[`INTAKE_${suffix}`];
      if (isBinding(intake)) return intake;
      throw new SettingsError(
        `bind the receiver of the namespace ${namespace} as INTAKE_${suffix} under "services", entrypoint Intake`,
      );
    },
    sume: () => {
      const own = `SUME_API_KEY_${suffix}`;
      const keyName = isText(env[own]) ? own : "SUME_API_KEY";
      const apiKey = env[keyName];
      const apiUrl = env.SUME_API_URL;
      if (!isText(apiKey)) throw new SettingsError(`set the secret SUME_API_KEY, or ${own}, to a key of Sume's API`);
      if (!isText(apiUrl) || !/^https?:$/.test(URL.parse(apiUrl)?.protocol ?? "")) {
        throw new SettingsError("set SUME_API_URL to the base URL of Sume's API, such as https://api.sume.example");
      }
      return { apiUrl, apiKey, keyName };
    },
  };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** Its name says that it is a receiver's `Intake`; the properties of a binding do not show what it is. */
function isBinding(value: unknown): value is Intake {
  return typeof value === "object" && value !== null;
}
