// What the model tests do to a job: the commands, as both the reference model and the ledger are given them.

import type { LedgerEvent } from "../../../ledger-service/contract/index.ts";

/** `Token` is a string once it is known which: the steps of arbitrary.ts name it by what it is to its consumer. */
export type Call<Token> =
  | {
      verb: "claim";
      consumer: string;
      token: Token;
      event: LedgerEvent | null;
      leaseMs: number;
      maxAttempts: number | null;
    }
  | { verb: "complete"; consumer: string; token: Token; result: string | null; dispatchedTo: string[] | null }
  | {
      verb: "release";
      consumer: string;
      token: Token;
      error: string | null;
      retryAfterMs: number;
      permanent: boolean;
    }
  | { verb: "renew"; consumer: string; token: Token; leaseMs: number }
  | { verb: "reopen"; actor: string; consumer: string; eventType: string | null; refresh: boolean }
  | { verb: "abandon"; actor: string; consumer: string }
  | { verb: "expectEvent"; consumer: string; withinMs: number }
  /** `consumer: null`: an operator. */
  | { verb: "cancelExpectation"; consumer: string | null; actor: string };

export type Alarm<Token> = {
  verb: "alarm";
  /** How many messages the alerts queue takes before it refuses. */
  accepts: number;
  /** A call that comes in while the first message is on its way. */
  meanwhile: Call<Token> | null;
  /** Milliseconds that the first message is on its way before that call, and as many after it. */
  slowMs: number;
};

export type Command<Token> = Call<Token> | Alarm<Token>;

/** `refresh` is there only as `true`. */
export type SentAlert = { reason: string; ring: number; pending: string[]; refresh?: true };
export type Answer = { outcome: object | null; alerts: SentAlert[] };
