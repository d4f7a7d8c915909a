/**
 * Triton's own test hook: with `TRITONSERVER_DELAY_SCHEDULER=<n>` in the environment a batching scheduler starts only when n requests
 * are queued. Published tests set it for the server process; it is no option of ours, so it is read here and not from the command line.
 */
export function delayedStartCount(environment: Readonly<Record<string, string | undefined>> = process.env): number {
  return countIn(environment['TRITONSERVER_DELAY_SCHEDULER'])
}

/** `TRITONSERVER_BACKLOG_DELAY_SCHEDULER=<n>`: the direct sequence batcher also waits until n requests are in its backlog. */
export function delayedBacklogCount(environment: Readonly<Record<string, string | undefined>> = process.env): number {
  return countIn(environment['TRITONSERVER_BACKLOG_DELAY_SCHEDULER'])
}

function countIn(given = ''): number { return /^\d{1,9}$/.test(given) ? Number(given) : 0 }
