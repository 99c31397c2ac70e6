// Reads the start of a file that a program in a box has left. It may have made something else under that name: a link to a
// file of the host, a pipe without a writer. Only plain files are read, up to a limit.
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { codeOf } from '../../../core/values/error-code.ts'
import { isMissing } from '../package/files.ts'

const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const utf8 = new TextDecoder('utf-8')

/** The beginning of a file, as text; empty if there is none. */
export async function readStart(path: string, bytesMax: number): Promise<string> {
  const file = await open(path, PLAIN).catch((error: unknown) => {
    if (isMissing(error) || isClosed(error)) return null
    throw error
  })
  if (file === null) return ''
  try {
    if (!(await file.stat()).isFile()) return ''
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax + 1), 0, bytesMax + 1)
    return shownText(buffer.subarray(0, bytesRead), bytesMax)
  } finally {
    await file.close()
  }
}

/** A link, or a file that its owner, who has Reeve's user, has closed. */
const isClosed = (error: unknown): boolean => ['ELOOP', 'EACCES'].includes(codeOf(error) ?? '')

/** Untrusted bytes as text that PostgreSQL can store: invalid UTF-8 and NUL are replaced. */
function shownText(bytes: Buffer, bytesMax: number): string {
  const text = utf8.decode(bytes.subarray(0, bytesMax)).replaceAll('\0', '\u{fffd}')
  return bytes.length > bytesMax ? `${text}…` : text
}
