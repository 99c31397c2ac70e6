// Sealing: AES-256-GCM with the task as associated data, so that a value which is moved to another row does not open. The sealed text
// names its key: the first key of the ring seals, all of them open, and keys can be rotated.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import { newBytes } from '../../../core/random.ts'

const IV_BYTES = 12
const TAG_BYTES = 16
const MARK = 'v1'
const SIGNING_KEY = 'reeve desk signature'

export interface SealKey {
  id: string
  /** 32 bytes. */
  key: Buffer
}

/** What a sealed value is, and whose. */
export type About = `${'solution' | 'session' | 'cookie' | 'frame' | 'frame_cookie'}:${string}`

export interface Sealer {
  seal(about: About, value: unknown): string
  /** Throws `Unsealable` where the key is missing or the text was not sealed for this. */
  open(about: About, sealed: string): unknown
  /** A secret for this text that only a server with the first key can derive. */
  sign(text: string): string
}

export class Unsealable extends Error {
  override name = 'Unsealable'
}

export function openSealer(keys: readonly [SealKey, ...SealKey[]]): Sealer {
  const [first] = keys
  const keyOf = new Map(keys.map(({ id, key }) => [id, key]))
  const signingKey = Buffer.from(hkdfSync('sha256', first.key, '', SIGNING_KEY, 32))

  return {
    seal(about, value) {
      const iv = newBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first.key, iv).setAAD(Buffer.from(about))
      const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final(), cipher.getAuthTag()])
      return written(first.id, iv, text)
    },
    open(about, sealed) {
      const [mark, id = '', ...parts] = sealed.split('.')
      const key = keyOf.get(id)
      if (mark !== MARK || key === undefined) throw new Unsealable(`There is no key "${id}" here.`)
      try {
        const [iv, bytes] = bytesOf(id, parts, sealed)
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-TAG_BYTES))
        const plain = Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
        return JSON.parse(plain.toString('utf8'))
      } catch {
        throw new Unsealable('A sealed value does not open.')
      }
    },
    sign: (text) => createHmac('sha256', signingKey).update(text).digest('base64url'),
  }
}

const written = (id: string, iv: Buffer, text: Buffer): string =>
  [MARK, id, iv.toString('base64url'), text.toString('base64url')].join('.')

// Node ignores the unused bits of the last letter and letters that are not base64url: one value has one text here.
function bytesOf(id: string, parts: string[], sealed: string): [iv: Buffer, text: Buffer] {
  const [iv = '', text = ''] = parts
  const bytes: [Buffer, Buffer] = [Buffer.from(iv, 'base64url'), Buffer.from(text, 'base64url')]
  if (written(id, ...bytes) !== sealed) throw new Unsealable('A sealed value is not written as it was sealed.')
  return bytes
}
