// What the test projects' set-up programs provide to the tests.

export {};

declare module "vitest" {
  interface ProvidedContext {
    /** Of test/tools/faulty-sume.ts. */
    sumeOrigin: string;
  }
}
