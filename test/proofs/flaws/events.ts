// Flaws of what becomes of an event that a claim brings: kept as a new one, in place of an older body, or not at all.

import { type Flaw, TESTS } from "./flaw.ts";

const file = "ledger-service/src/job/events.ts";

export const EVENTS: readonly Flaw[] = [
  {
    name: "any number of event types is kept",
    file,
    find: "if (record.events.length >= MAX_EVENT_TYPES) return { received: record, ...conflict };",
    replace: "",
    tests: [TESTS.events],
  },
  {
    name: "a second event type goes by in silence",
    file,
    find: "first === undefined || first.type === event.type\n",
    replace: "first === undefined || first.type !== null\n",
    tests: [TESTS.events],
  },
  {
    name: "another body is not kept, though somebody has still to work with it",
    file,
    find: "if (!event.differs || isLesser || unfinished(record).length === 0)",
    replace: "if (known.type === type)",
    tests: [TESTS.events],
    peer: "the media URLs of the first delivery, long expired",
  },
  {
    name: "another body is kept when everybody has finished",
    file,
    find: "if (!event.differs || isLesser || unfinished(record).length === 0)",
    replace: "if (!event.differs || isLesser)",
    tests: [TESTS.events],
  },
  {
    name: "the same body again is written as if it were another",
    file,
    find: "if (!event.differs || isLesser || unfinished(record).length === 0)",
    replace: "if (isLesser || unfinished(record).length === 0)",
    tests: [TESTS.claim],
  },
  {
    name: "what was only polled takes the place of what Sume signed",
    file,
    find: "if (!event.differs || isLesser || unfinished(record).length === 0)",
    replace: "if (!event.differs || unfinished(record).length === 0)",
    tests: [TESTS.events],
  },
  {
    name: "a newer body is shown with the source of the older one",
    file,
    find: "{ ...known, source, bytes, replaced }",
    replace: "{ ...known, bytes, replaced }",
    tests: [TESTS.events],
  },
  {
    name: "the sizes of all earlier bodies are kept without end",
    file,
    find: "bytes: known.bytes }].slice(-MAX_HISTORY);",
    replace: "bytes: known.bytes }];",
    tests: [TESTS.events],
  },
  {
    name: "another body of a known type is kept in another's place",
    file,
    find: "(entry === known ? newest : entry)",
    replace: "(entry === first ? newest : entry)",
    tests: [TESTS.events],
  },
];
