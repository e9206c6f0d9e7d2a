// `npm run demo`: every Worker in real workerd on free ports, its storage in a temporary folder, and the scenarios played one
// after the other. A line each; the exit code is 1 at the first that does not come out as it must.

import { startStack } from "../stack/stack.ts";
import { scenarios } from "./scenarios.ts";

console.log("Starting the receiver, the ledger service and the consumers …");
const stack = await startStack();
let failed = 0;
try {
  for (const [index, { name, play }] of scenarios.entries()) {
    console.log(`${String(index + 1).padStart(2)}. ${name}: ${await play(stack)}`);
  }
} catch (error) {
  failed = 1;
  console.error(error);
} finally {
  await stack.close();
}
console.log(
  failed === 0 ? `All ${scenarios.length} scenarios came out as they must.` : "The demo ends at the first difference.",
);
process.exitCode = failed;
