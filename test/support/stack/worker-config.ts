// A Worker's wrangler config as a value, and written out elsewhere with some of it changed. `wrangler dev` takes
// variables on its command line for its first Worker only, and the project's folders are left alone. Called by all that
// start Workers.
// Leaves out environments and TOML: no config here has them.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ROOT } from "../tools/wrangler-env.ts";

export type WorkerConfig = {
  /** Its `wrangler.jsonc`, below the project's folder. */
  config: string;
  /** Over the variables of the config. */
  vars?: Record<string, string>;
  /** Another entry module, below the project's folder. */
  main?: string;
};

type Database = { binding: string; migrations_dir?: string };
type Config = { name: string; main: string; vars?: object; d1_databases?: Database[] };

/** The bindings of the Worker's D1 databases that have migrations. */
export function migratedDatabases(config: string): string[] {
  const databases = readConfig(config).d1_databases ?? [];
  return databases.filter((each) => each.migrations_dir !== undefined).map(({ binding }) => binding);
}

/** Writes the changed config to `<folder>/<Worker's name>.jsonc`, with absolute paths in it, and answers that path. */
export function writeConfig(folder: string, { config, vars = {}, main }: WorkerConfig): string {
  const home = dirname(resolve(ROOT, config));
  const own = readConfig(config);
  const databases = own.d1_databases?.map((database) =>
    database.migrations_dir === undefined
      ? database
      : { ...database, migrations_dir: resolve(home, database.migrations_dir) },
  );
  const changed = {
    ...own,
    main: main === undefined ? resolve(home, own.main) : resolve(ROOT, main),
    vars: { ...own.vars, ...vars },
    ...(databases && { d1_databases: databases }),
  };
  const written = join(folder, `${own.name}.jsonc`);
  writeFileSync(written, JSON.stringify(changed, null, 2));
  return written;
}

/** JSON with comments and trailing commas. Strings are matched first, so what looks like either in one stays. */
function readConfig(config: string): Config {
  const jsonc = readFileSync(resolve(ROOT, config), "utf8");
  const strings = /("(?:[^"\\]|\\.)*")/.source;
  const uncommented = jsonc.replaceAll(new RegExp(`${strings}|//[^\\n]*|/\\*[^]*?\\*/`, "g"), "$1");
  return JSON.parse(uncommented.replaceAll(new RegExp(`${strings}|,(?=\\s*[}\\]])`, "g"), "$1"));
}
