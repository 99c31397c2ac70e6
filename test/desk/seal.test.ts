import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import { describe, test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { openKeyRing } from '../../src/doors/desk/solutions/key-ring.ts'
import { openSealer, type SealKey } from '../../src/doors/desk/solutions/seal.ts'
import { openTickets } from '../../src/doors/desk/frame/ticket.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { testDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/servers.ts'

const key = (id: string): SealKey => ({ id, key: randomBytes(32) })
const [k1, k2] = [key('k1'), key('k2')]

describe('a sealed value', () => {
  test('opens for what it was sealed for, and for nothing else', () => {
    const sealer = openSealer([k1])
    const sealed = sealer.seal('solution:a', { cookie: 'secret' })

    assert.deepEqual(sealer.open('solution:a', sealed), { cookie: 'secret' })
    assert(!sealed.includes('secret') && !Buffer.from(sealed.split('.')[3] ?? '', 'base64url').includes('secret'))
    for (const about of ['solution:b', 'session:a', 'cookie:a'] as const)
      assert.throws(() => sealer.open(about, sealed), { name: 'Unsealable' })
  })

  test('that was changed anywhere does not open', () => {
    const sealer = openSealer([k1])
    const [mark, id, iv, text] = sealer.seal('solution:a', 'value').split('.')
    const flipped = (part = '') => {
      const bytes = Buffer.from(part, 'base64url')
      bytes[0] = (bytes[0] ?? 0) ^ 1
      return bytes.toString('base64url')
    }

    for (const sealed of [
      [mark, id, flipped(iv), text],
      [mark, id, iv, flipped(text)],
      [mark, 'k9', iv, text],
      ['v2', id, iv, text],
      [mark, id, iv, ''],
      [''],
    ])
      assert.throws(() => sealer.open('solution:a', sealed.join('.')), { name: 'Unsealable' })
  })

  test('opens in the one text it was sealed as, not in another that decodes to the same bytes', () => {
    const sealer = openSealer([k1])
    // 7 letters of JSON and 16 of the tag: two bits of the last letter are unused.
    const sealed = sealer.seal('solution:a', 'value')
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const next = `${sealed.slice(0, -1)}${letters[letters.indexOf(sealed.slice(-1)) + 1]}`
    const bytes = (text: string) => Buffer.from(text.split('.')[3] ?? '', 'base64url')

    assert.deepEqual(bytes(next), bytes(sealed))
    for (const other of [next, `${sealed}=`, `${sealed}.`, `${sealed}.AAAA`, `${sealed} `])
      assert.throws(() => sealer.open('solution:a', other), { name: 'Unsealable' }, other)
    assert.equal(sealer.open('solution:a', sealed), 'value')
  })

  test('is never the same twice, and carries the name of its key', () => {
    const sealer = openSealer([k1])

    const sealed = Array.from({ length: 100 }, () => sealer.seal('solution:a', 'value'))

    assert.equal(new Set(sealed).size, 100)
    assert(sealed.every((one) => one.startsWith('v1.k1.')))
  })

  test('opens after a rotation, as long as the old key is there', () => {
    const old = openSealer([k1]).seal('solution:a', 'value')
    const rotated = openSealer([k2, k1])

    assert.equal(rotated.open('solution:a', old), 'value')
    assert(rotated.seal('solution:a', 'value').startsWith('v1.k2.'))
    assert.throws(() => openSealer([k2]).open('solution:a', old), { name: 'Unsealable' })
  })
})

describe('the ring of keys', () => {
  const folders = () => migrationFolders().slice(1)
  const log = pino({ level: 'silent' })

  async function setup(t: TestContext) {
    const { database } = await testDatabase(t, folders())
    const open = async (dataDir: string, configured: readonly SealKey[] = []) =>
      openKeyRing({ configured, dataDir, database, log })
    const folder = async () => {
      const made = await temporaryFolder()
      t.after(() => rm(made, { recursive: true, force: true }))
      return made
    }
    return { open, folder, database }
  }

  test('makes a key in the data folder that only its owner can read, and uses it again', async (t) => {
    const { open, folder } = await setup(t)
    const dir = await folder()

    const sealed = (await open(dir)).seal('solution:a', 'value')
    const again = await open(dir)

    assert.equal(again.open('solution:a', sealed), 'value')
    assert.equal((await stat(`${dir}/desk.key`)).mode & 0o777, 0o600)
    assert.equal(Buffer.from((await readFile(`${dir}/desk.key`, 'utf8')).trim(), 'base64').length, 32)
  })

  test('twenty processes that start at once make one key', async (t) => {
    const { open, folder } = await setup(t)
    const dir = await folder()

    const sealers = await Promise.all(Array.from({ length: 20 }, () => open(dir)))
    const sealed = sealers.map((sealer) => sealer.seal('solution:a', 'value'))

    for (const sealer of sealers) for (const one of sealed) assert.equal(sealer.open('solution:a', one), 'value')
  })

  test('a second machine with a key of its own seals nothing until both have the same keys set', async (t) => {
    const { open, folder } = await setup(t)
    const [one, two] = [await folder(), await folder()]
    await open(one)

    const second = await open(two)
    const set = [await open(one, [k1]), await open(two, [k1])]

    assert.throws(() => second.seal('solution:a', 'value'), { status: 503 })
    assert.equal(set[1]?.open('solution:a', set[0]?.seal('solution:a', 'value') ?? ''), 'value')
  })
})

describe('a ticket of the frame', () => {
  const tickets = openTickets(openSealer([k1]))
  const NOW = 1_700_000_000_000
  const ANN = { kind: 'token', secret: 'a'.repeat(64) } as const

  const cookieOf = (line: string | null) => line?.split(';', 1)[0]

  test('is exchanged for a cookie that is valid for its task until it expires', () => {
    const { text, expiresAt } = tickets.issue('u1', ANN, NOW)
    const cookie = cookieOf(tickets.cookieFor(text, 'u1', NOW))
    const end = expiresAt.getTime()

    assert.equal(tickets.cookieFor(text, 'u2', NOW), null)
    assert.equal(tickets.cookieFor(text, 'u1', end), null)
    assert.deepEqual(tickets.holderOf(`other=1; ${cookie}; reeve_frame=x`, 'u1', end - 1), ANN)
    assert.equal(tickets.holderOf(cookie, 'u2', NOW), null)
    assert.equal(tickets.holderOf(cookie, 'u1', end), null)
    assert.equal(tickets.holderOf(undefined, 'u1', NOW), null)
    assert.equal(tickets.holderOf(`reeve_frame=${text}`, 'u1', NOW), null)
    assert.equal(end - NOW, 900_000)
  })

  test('cannot be made or changed by anyone else', () => {
    const { text } = tickets.issue('u1', ANN, NOW)
    const [mark = '', key = '', iv = '', sealed = ''] = text.split('.')

    assert(!text.includes(ANN.secret) && !Buffer.from(sealed, 'base64url').includes(ANN.secret))
    for (const wrong of [
      '',
      '.',
      sealed,
      `${mark}.${key}.${iv}.`,
      `${mark}.${key}.${iv}.${sealed.slice(4)}`,
      `${mark}.${key}.${iv}.AAAA${sealed.slice(4)}`,
      `${mark}.other.${iv}.${sealed}`,
      openSealer([k1]).seal('frame:u1', { expires: 9e12 }),
      openSealer([k1]).seal('solution:u1', { expires: 9e12, holder: ANN }),
      openSealer([k1]).seal('frame_cookie:u1', { expires: 9e12, holder: ANN }),
    ])
      assert.equal(tickets.cookieFor(wrong, 'u1', NOW), null, wrong)
    assert.equal(openTickets(openSealer([k2])).cookieFor(text, 'u1', NOW), null)
    assert.notEqual(openTickets(openSealer([k2, k1])).cookieFor(text, 'u1', NOW), null)
  })
})
