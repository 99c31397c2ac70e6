// The server's own pid file says where it listens and how far it has come. Its lines are what pg_ctl
// reads: pid, data folder, start time, port, socket folder, address, shared memory, status.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../values/error-code.ts'

const PID = 0
const PORT = 3
const SOCKET_DIR = 4
const STATUS = 7

export interface PidFile {
  pid: number
  port: number
  socketDir: string
  /** 'starting', 'ready', 'stopping', or '' while the file is being written. */
  status: string
}

export const pidFilePath = (cluster: string): string => join(cluster, 'postmaster.pid')

/** Null if there is none. */
export async function readPidFile(cluster: string): Promise<PidFile | null> {
  let text
  try {
    text = await readFile(pidFilePath(cluster), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }

  const line = (index: number) => text.split('\n')[index]?.trim() ?? ''
  const pid = Math.abs(Number(line(PID))) // negative: a single-user server
  if (!Number.isInteger(pid) || pid === 0) return null
  return { pid, port: Number(line(PORT)), socketDir: line(SOCKET_DIR), status: line(STATUS) }
}
