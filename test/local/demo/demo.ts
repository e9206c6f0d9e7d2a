// `npm run demo`: plays the scenarios against every Worker in real workerd, on free ports, with storage of its own. It
// prints a line for each. The exit code is 1 at the first that does not come out as it must.

import { type Stack, startStack } from "../../support/stack/stack.ts";
import { scenarios } from "./scenarios.ts";
import type { Scenario } from "./steps.ts";
import { WATCH_VARS, watchScenarios } from "./watch-scenarios.ts";

if (process.argv.length > 2) {
  console.error("the demo has no options");
  process.exit(2);
}
let told = 0;

try {
  console.log("Starting the receiver, the ledger service and the consumers …");
  await withStack({}, async (stack) => {
    for (const scenario of scenarios) tell(scenario, await scenario.play(stack));
  });
  console.log("Starting them again with a watch that rings after seconds; these play together …");
  await withStack({ vars: WATCH_VARS }, async (stack) => {
    const playing = watchScenarios.map(async (scenario) => ({ scenario, line: await scenario.play(stack) }));
    for (const { scenario, line } of await Promise.all(playing)) tell(scenario, line);
  });
  console.log(`All ${told} scenarios came out as they must.`);
} catch (error) {
  console.error(error);
  console.log("The demo ends at the first difference.");
  process.exitCode = 1;
}

async function withStack(
  options: Parameters<typeof startStack>[0],
  play: (stack: Stack) => Promise<void>,
): Promise<void> {
  const stack = await startStack(options);
  try {
    await play(stack);
  } finally {
    await stack.close();
  }
}

function tell({ name }: Scenario, line: string): void {
  told += 1;
  console.log(`${String(told).padStart(2)}. ${name}: ${line}`);
}
