/** Begins to measure: the answer is the processor time of this process since then. Other programs hardly change it. */
export function startProcessorTimer(): () => number {
  const began = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(began)
    return (user + system) / 1000
  }
}
