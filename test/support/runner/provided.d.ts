// What the test projects' set-up programs and their config provide to the tests.

export {};

declare module "vitest" {
  interface ProvidedContext {
    /** Of test/support/runner/faulty-sume.ts. */
    sumeOrigin: string;
    /** Of test/support/runner/model-size.ts. */
    model: { machineCommands: number; objectCommands: number; seed: number | null };
  }
}
