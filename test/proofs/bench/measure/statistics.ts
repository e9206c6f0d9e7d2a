// The arithmetic of a comparison: ratios of figures that were taken in the same round, their median and their spread.
// Called by the parts. Pure.

/** Where the ratios of the rounds lie. */
export type Spread = { median: number; q1: number; q3: number; min: number; max: number; rounds: number };

/**
 * The value below which the share `q`, from 0 to 1, of the values lies; between two values in proportion.
 * @throws without a value.
 */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) throw new RangeError("no values");
  return below + (above - below) * (position - Math.floor(position));
}

export function spread(values: readonly number[]): Spread {
  const at = (q: number) => quantile(values, q);
  return { median: at(0.5), q1: at(0.25), q3: at(0.75), min: at(0), max: at(1), rounds: values.length };
}

/**
 * The spread of `ours[n] / other[n]`: what slows a whole round down touches both sides of its ratio.
 * @throws unless both were taken in the same rounds.
 */
export function ratios(ours: readonly number[], other: readonly number[]): Spread {
  if (ours.length !== other.length) throw new RangeError("the figures are not of the same rounds");
  return spread(ours.map((figure, round) => figure / (other[round] ?? Number.NaN)));
}
