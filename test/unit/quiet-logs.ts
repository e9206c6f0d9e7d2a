// The Workers' own log lines are no news to whoever runs the tests; those that matter are asserted. Run before each
// test file inside workerd, so that thousands of lines need not travel to be left out.

for (const level of ["log", "error"] as const) {
  const write = console[level].bind(console);
  console[level] = (...args: unknown[]) => {
    const [line] = args;
    if (typeof line !== "string" || !line.startsWith('{"level":')) write(...args);
  };
}
