// The PostgreSQL of a one-machine deployment: a real server, a child of this process, on a Unix socket.
//
//   <dataDir>/postgres        the cluster; made once, moved into place complete (cluster.ts)
//   <dataDir>/run             the socket's folder, mode 0700: who can enter it is trusted (socket-dir.ts)
//   <dataDir>/postgres.log    what the server prints, bounded (log-file.ts)
//   <dataDir>/postgres.lock   held from start to exit, so that a start never disturbs a server in use (lock.ts)
//
// A start takes the lock, waits for whatever a killed process left (leftover.ts), finds a way to run PostgreSQL as this
// user (run-as.ts), launches it (launch.ts) and waits for the pid file to say `ready`. From then on:
//
//   running ── stop() ─────────────────► fast shutdown, then immediate, then SIGKILL; `exited` says expected
//   running ── this process dies ──────► the keeper asks for a fast shutdown; the next start waits for its end
//   running ── the server dies ────────► `exited` says unexpected; the main process logs it and exits
//   running ── Ctrl-C, a closed terminal ► nothing: the server has a session of its own and serves the drain
//
// A service manager that signals every process of a service (systemd's KillMode=control-group) would stop the server
// before the drain: such a service sets KillMode=mixed.
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { type Binaries, findBinaries } from './binaries.ts'
import { DATABASE, ensureCluster, USER } from './cluster.ts'
import type { Exit } from './launch.ts'
import type { Loop } from '../loop.ts'
import { lockFile } from './lock.ts'
import { type LogFile, openLog } from './log-file.ts'
import { readPidFile } from './pid-file.ts'
import { startPostmaster } from './postmaster.ts'
import { isServerOf } from './processes.ts'
import { chooseRunAs } from './run-as.ts'
import { defaultSettings, type PostgresSettings, writeSettings } from './settings.ts'
import { makeSocketDir, PORT } from './socket-dir.ts'

export interface EmbeddedServer {
  /** What `pg` needs to connect. */
  connection: { host: string; port: number; user: string; database: string }
  pid: number
  /** To run while the server does. */
  loops: readonly Loop[]
  /** Resolves when the server is gone: `expected` if stop() was called. */
  exited: Promise<Exit & { expected: boolean }>
  /** Resolves when no process of the server is left. May be called again. */
  stop(): Promise<void>
}

export interface StartOptions {
  dataDir: string
  /** Overrides of the server's settings. */
  settings?: PostgresSettings
  /** Variables of the server's environment. It gets none of this process's own. */
  env?: Readonly<Record<string, string>>
  /** Called with steps of the start that take time or are unusual. */
  log?: (line: string) => void
}

/** Starts the server on the data folder, and creates both if necessary. Throws DataDirLocked if it is in use. */
export async function startEmbedded(options: StartOptions): Promise<EmbeddedServer> {
  const { settings = {}, env = {}, log = () => {} } = options
  const binaries = await findBinaries()
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(options.dataDir)

  const lock = await lockFile(dataDir, 'postgres.lock')
  let logFile: LogFile | null = null
  const close = async () => {
    logFile?.close()
    await lock.release()
  }
  try {
    logFile = await openLog(join(dataDir, 'postgres.log'))
    return await start({ dataDir, binaries, settings, env, logFile, log, close })
  } catch (error) {
    await close()
    throw error
  }
}

/** Connection of the server that runs on this data folder, for commands beside the main process; null if none does. */
export async function findRunning(dataDir: string): Promise<EmbeddedServer['connection'] | null> {
  const cluster = join(await realpath(dataDir).catch(() => dataDir), 'postgres') // a missing folder has no pid file
  const found = await readPidFile(cluster)
  if (found === null || found.status !== 'ready') return null
  if (!(await isServerOf(found.pid, cluster))) return null
  return { host: found.socketDir, port: found.port, user: USER, database: DATABASE }
}

interface StartOnCluster {
  dataDir: string
  binaries: Binaries
  settings: PostgresSettings
  env: Readonly<Record<string, string>>
  logFile: LogFile
  log: (line: string) => void
  close(): Promise<void>
}

async function start({
  dataDir,
  binaries,
  settings,
  env,
  logFile,
  log,
  close,
}: StartOnCluster): Promise<EmbeddedServer> {
  const cluster = join(dataDir, 'postgres')
  const runAs = await chooseRunAs({ dataDir, cluster, postgres: binaries.postgres })

  await ensureCluster({ dataDir, cluster }, { binaries, runAs, logFile, log })
  const host = await makeSocketDir(dataDir, runAs.owner)
  await writeSettings(cluster, { ...defaultSettings(host), ...settings })
  const postmaster = await startPostmaster({ binaries, cluster, socketDir: host, runAs, logFile, log, env })

  const exited = postmaster.exited.then(async (exit) => {
    await close()
    return exit
  })
  return {
    connection: { host, port: PORT, user: USER, database: DATABASE },
    pid: postmaster.pid,
    loops: [logFile.loop],
    exited,
    async stop() {
      await postmaster.stop()
      await exited
    },
  }
}
