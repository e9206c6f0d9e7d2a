// How much the model tests (test/proofs/model) try, from the environment: Node's variables do not reach workerd by
// themselves.

const DEFAULT_COMMANDS = 12_000;
/** With fewer, a run does not meet every outcome. */
const LEAST_COMMANDS = 12_000;

/** Most commands go to the state machine alone, which is fast; a sixth to the object in workerd. */
export function modelSize(env: NodeJS.ProcessEnv): {
  machineCommands: number;
  objectCommands: number;
  seed: number | null;
} {
  const commands = numberOf("LEDGER_MODEL_COMMANDS", env["LEDGER_MODEL_COMMANDS"]) ?? DEFAULT_COMMANDS;
  if (commands < LEAST_COMMANDS) throw new RangeError(`LEDGER_MODEL_COMMANDS must be at least ${LEAST_COMMANDS}`);
  const objectCommands = Math.ceil(commands / 6);
  const seed = numberOf("LEDGER_MODEL_SEED", env["LEDGER_MODEL_SEED"]);
  return { machineCommands: commands - objectCommands, objectCommands, seed };
}

function numberOf(name: string, value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  const number = Number(value);
  if (Number.isInteger(number)) return number;
  throw new TypeError(`${name} must be a whole number`);
}
