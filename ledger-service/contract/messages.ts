// What goes over queues: the job's id to consumers, alerts to the reconciler.

/** What a receiver puts on a consumer's queue; the event itself comes with the claim. */
export type JobMessage = { jobId: string };

/** What the ledger puts on the alerts queue. */
export type AlertMessage = {
  namespace: string;
  jobId: string;
  /** Expected and not come; come and not finished; come with two event types. */
  reason: "not_arrived" | "not_finished" | "conflict";
  /** Counts from 1, for each reason and each who is waited for; the highest of those whom this alert is for. */
  ring: number;
  /** Of `not_finished`: the consumers to send a message to, the receiver's own name among them where its part is not done. */
  pending: string[];
  /** An operator reopened a claim and wants the event anew: ask Sume to redeliver, then send the messages. */
  refresh?: true;
};
