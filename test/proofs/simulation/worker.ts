// A thread of the simulation: makes its share of the runs and sends what they came to. Started by main.ts.

import { parentPort, workerData } from "node:worker_threads";
import { explore, type Exploration, type Share } from "./schedules/explore.ts";

const { what, share }: { what: Exploration; share: Share } = workerData;
parentPort?.postMessage(await explore(what, share), []);
