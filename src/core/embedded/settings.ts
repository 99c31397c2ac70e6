// The server's configuration file is rewritten at every start. What an operator changes with ALTER SYSTEM is kept in
// a file of its own, which PostgreSQL reads after this one.
import { open, rename } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { PORT } from './socket-dir.ts'

const MB = 1024 * 1024
const SHARED_BUFFERS_MB = { min: 64, max: 512 }

export type PostgresSettings = Record<string, string>

/** For many small durable writes to few hot rows: eager vacuum, rare checkpoints, no JIT. */
export function defaultSettings(socketDir: string, memoryBytes = memoryOfThisMachine()): PostgresSettings {
  const share = (part: number) => Math.floor(memoryBytes / part / MB)
  const sharedBuffersMb = Math.min(SHARED_BUFFERS_MB.max, Math.max(SHARED_BUFFERS_MB.min, share(16)))

  return {
    listen_addresses: '',
    port: String(PORT),
    unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`, // quoted: a list, and a path may hold a comma
    unix_socket_permissions: '0700',
    max_connections: '200',
    idle_in_transaction_session_timeout: '60s', // for psql and other clients; Reeve's own connections set less (db/database.ts)
    client_connection_check_interval: '10s',

    shared_buffers: `${sharedBuffersMb}MB`,
    effective_cache_size: `${Math.max(SHARED_BUFFERS_MB.min, share(2))}MB`,
    work_mem: '8MB',
    maintenance_work_mem: '64MB',
    jit: 'off',
    dynamic_shared_memory_type: 'posix',

    fsync: 'on',
    synchronous_commit: 'on',
    wal_compression: 'on',
    max_wal_size: '2GB',
    checkpoint_timeout: '10min',
    checkpoint_completion_target: '0.9',

    autovacuum_naptime: '10s',
    autovacuum_vacuum_scale_factor: '0.05',
    autovacuum_vacuum_insert_scale_factor: '0.1',
    autovacuum_analyze_scale_factor: '0.05',
    autovacuum_vacuum_cost_limit: '1000',

    log_destination: 'stderr',
    logging_collector: 'off',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
    log_error_verbosity: 'terse', // the details of an error hold values of rows
    log_line_prefix: '%m [%p] ',
    log_timezone: 'UTC',
    timezone: 'UTC',
    datestyle: 'iso, ymd',
    lc_messages: 'C', // start-up errors are recognised by their text
    lc_monetary: 'C',
    lc_numeric: 'C',
    lc_time: 'C',
    default_text_search_config: 'pg_catalog.english',
  }
}

/** Replaced in one step: a start that is killed here leaves the old file or the new one. */
export async function writeSettings(cluster: string, settings: PostgresSettings): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`)
  const path = join(cluster, 'postgresql.conf')
  const file = await open(`${path}.new`, 'w', 0o644)
  try {
    await file.writeFile(`# Written by Reeve at every start; use ALTER SYSTEM for changes.\n${lines.join('\n')}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}

/** A container may be allowed less than the machine has. */
function memoryOfThisMachine(): number {
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
}
