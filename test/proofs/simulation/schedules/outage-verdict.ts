// What an outage came to, and whether that is good enough. Pure: it knows no simulation.

export type OutageOptions = { hours: number; jobs: number };
export type OutageFigures = {
  violations: string[];
  /** Jobs that both consumers completed. */
  completed: number;
  /** Claims that failed. */
  failed: number;
  /** Messages handed to the stricken consumer, and the attempts that it was granted. */
  deliveries: number;
  attempts: number;
  alerts: number;
  /** Milliseconds from the outage's end to the end of the last job; negative: before. */
  lastMs: number;
  /** Attempts of the stricken consumer in the busiest second after the outage's end. */
  peak: number;
};

/** A message that finds nothing to do is paid for as well; beyond this an outage multiplies the traffic. */
const MOST_DELIVERIES_PER_ATTEMPT = 1.5;

/** What was asked for and is missed. That nobody was called need not be judged: the scenario has no operator. */
export function misses({ jobs }: OutageOptions, figures: OutageFigures): string[] {
  const { violations, completed, failed, deliveries, attempts, alerts } = figures;
  const isDear = deliveries > MOST_DELIVERIES_PER_ATTEMPT * attempts;
  return [
    ...violations,
    ...(completed === jobs ? [] : [`${completed} of ${jobs} jobs completed`]),
    ...(failed === 0 ? [] : [`${failed} claims failed`]),
    // The queue's own messages keep every job going: an alert says of none that it has stopped.
    ...(alerts === 0 ? [] : [`${alerts} alerts`]),
    ...(isDear ? [`${deliveries} deliveries for ${attempts} attempts`] : []),
  ];
}
