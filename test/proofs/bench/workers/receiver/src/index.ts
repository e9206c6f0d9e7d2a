// The production receiver, its log lines left out.

import { withoutLogLines } from "../../ledger/src/without-log-lines.ts";

export { default, Intake } from "../../../../../../receiver/src/index.ts";

withoutLogLines();
