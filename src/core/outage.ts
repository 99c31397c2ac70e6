// Whether an error says that something this server stands on is away or full for the moment. A client is told to come again (503 with
// Retry-After), and a job is not held responsible.
import { isLostConnection, sqlState } from './db/database.ts'
import { FileStoreError } from './files/file-store.ts'
import { codeOf } from './values/error-code.ts'

// Class 53: disk full, out of memory, too many connections. 25006: the server is read-only, a standby after a failover.
const OUTAGE_STATES = /^(53|25006$)/
const FULL_DISK_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

export const isOutage = (error: unknown): boolean =>
  isLostConnection(error) ||
  OUTAGE_STATES.test(sqlState(error) ?? '') ||
  error instanceof FileStoreError ||
  FULL_DISK_CODES.has(codeOf(error) ?? '')
