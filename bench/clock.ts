// The monotonic clock of the operating system. Unlike `performance.now()` it has the same origin in every process of
// one machine, so a moment noted by the producer can be compared with one noted by the worker.

export function nowUs(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}
