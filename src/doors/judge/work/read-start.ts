// Files that a program in a box has left. Whoever made them may have made something else under their name: a link into this
// machine, a pipe that nobody writes to. Only plain files are read, and only so much of them.
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { isMissing } from '../package/files.ts'

const PLAIN = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

const utf8 = new TextDecoder('utf-8')

/** The beginning of a file, as text; empty if there is none. */
export async function readStart(path: string, bytesMax: number): Promise<string> {
  const file = await open(path, PLAIN).catch((error: unknown) => {
    if (isMissing(error) || isLink(error)) return null
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

const isLink = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ELOOP'

/** Bytes of a stranger as text that PostgreSQL can keep: what is not UTF-8 is replaced, and NUL with it. */
function shownText(bytes: Buffer, bytesMax: number): string {
  const text = utf8.decode(bytes.subarray(0, bytesMax)).replaceAll('\0', '\u{fffd}')
  return bytes.length > bytesMax ? `${text}…` : text
}
