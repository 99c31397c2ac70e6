// What a process has used so far, as Linux tells it.
import { readdir, readFile } from 'node:fs/promises'

const TICK_MS = 10 // USER_HZ is 100

export interface ProcessUsage {
  rssMb: number
  cpuMs: number
}

export async function usageOf(pid: number): Promise<ProcessUsage> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const { userTicks, systemTicks } = await statOf(pid)
  const rssKb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0)
  return { rssMb: rssKb / 1024, cpuMs: (userTicks + systemTicks) * TICK_MS }
}

/** Of a process with all its children, those that ended included. */
export async function cpuMsOfFamily(pid: number): Promise<number> {
  const parent = await statOf(pid)
  let ticks = parent.userTicks + parent.systemTicks + parent.endedTicks
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const child = await statOf(Number(name)).catch(() => null) // it ended meanwhile
    if (child?.parentPid === pid) ticks += child.userTicks + child.systemTicks
  }
  return ticks * TICK_MS
}

async function statOf(pid: number) {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const at = (index: number) => Number(fields[index])
  return { parentPid: at(1), userTicks: at(11), systemTicks: at(12), endedTicks: at(13) + at(14) }
}
