// All flaws, by the part of the product that they are in. A flaw that only its form makes a flaw (the outcome is the same for
// every caller) does not belong here; one that no test notices is a hole in the tests.

import { ALARM } from "./alarm.ts";
import { CLIENT } from "./client.ts";
import { ENTRYPOINTS } from "./entrypoints.ts";
import { EVENTS } from "./events.ts";
import type { Flaw } from "./flaw.ts";
import { OBJECT } from "./object.ts";
import { OPERATIONS } from "./operations.ts";
import { RECEIVER } from "./receiver.ts";
import { SCHEDULE } from "./schedule.ts";
import { STATE_MACHINE } from "./state-machine.ts";
import { WATCH } from "./watch.ts";

export const FLAWS: readonly Flaw[] = [
  ...STATE_MACHINE,
  ...OPERATIONS,
  ...EVENTS,
  ...SCHEDULE,
  ...WATCH,
  ...ALARM,
  ...OBJECT,
  ...ENTRYPOINTS,
  ...CLIENT,
  ...RECEIVER,
];
