// One Reeve process owns a data folder. The lock is the kernel's (flock), on a file that stays: the kernel releases it when
// its holder dies in any way, so that a lock is never stale. Node cannot lock a file, but a lock belongs to the
// open file, not to the process that asked for it: a child that inherits the descriptor takes the lock and exits, and
// this process holds it from then on. macOS locks as part of open.
import { spawn } from 'node:child_process'
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import { codeOf } from '../values/error-code.ts'
import { isAlive } from './processes.ts'
import { StartError } from '../start-error.ts'

const O_EXLOCK = 0x20 // macOS and BSD; absent from Node's constants
const FLOCK_HELD = 1 // exit status of `flock -n` when another holds the lock

export interface Lock {
  release(): Promise<void>
}

export class DataDirLocked extends StartError {
  override readonly name = 'DataDirLocked'
  readonly dataDir: string
  /** Null if the holder cannot be seen from here, as in another container. */
  readonly pid: number | null

  constructor(dataDir: string, pid: number | null) {
    super(
      `The data folder ${dataDir} is in use by ${pid === null ? 'another Reeve process' : `Reeve process ${pid}`}:` +
        ' stop that process first, or set REEVE_DATA_DIR to another folder.',
    )
    this.dataDir = dataDir
    this.pid = pid
  }
}

/** Locks the data folder for this process until `release` or its end; throws DataDirLocked if another has it. */
export async function lockDataDir(dataDir: string): Promise<Lock> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  return lockFile(await realpath(dataDir), 'reeve.lock')
}

/** A second call for the same file is refused within one process, too. */
export async function lockFile(dataDir: string, name: string): Promise<Lock> {
  const path = join(dataDir, name)
  const fd = await openLocked(path) // a bare descriptor: a FileHandle would be closed, and unlocked, by the collector
  if (fd === null) throw new DataDirLocked(dataDir, readHolder(path))

  // The pid is only for the message above: a holder that died leaves it, and the next one writes its own.
  ftruncateSync(fd)
  writeSync(fd, `${process.pid}\n`, 0)

  let held = true
  return {
    async release() {
      if (!held) return
      held = false
      ftruncateSync(fd)
      closeSync(fd)
    },
  }
}

async function openLocked(path: string): Promise<number | null> {
  const flags = constants.O_RDWR | constants.O_CREAT
  if (process.platform !== 'darwin') {
    const fd = openSync(path, flags, 0o600)
    if (await flock(fd).catch(closeAndThrow(fd))) return fd
    closeSync(fd)
    return null
  }

  try {
    return openSync(path, flags | O_EXLOCK | constants.O_NONBLOCK, 0o600)
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') return null
    throw error
  }
}

async function flock(fd: number): Promise<boolean> {
  const child = spawn('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] })
  try {
    const [status] = await once(child, 'exit')
    if (status === 0) return true
    if (status === FLOCK_HELD) return false
    throw new Error(`it exited with code ${status}`)
  } catch (error) {
    throw new StartError('The data folder cannot be locked: the program "flock" (package util-linux) is needed.', {
      cause: error,
    })
  }
}

function closeAndThrow(fd: number): (error: unknown) => never {
  return (error) => {
    closeSync(fd)
    throw error
  }
}

function readHolder(path: string): number | null {
  const pid = Number.parseInt(readFileSync(path, 'utf8'), 10)
  return Number.isInteger(pid) && isAlive(pid) ? pid : null
}
