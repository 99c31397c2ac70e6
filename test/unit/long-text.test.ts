// Long texts of the database: decoded as Buffer.toString does, but not by it, which blocks the event loop for 44 ms per 5 MB.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../support/database.ts'

const TEXTS = { ascii: 'a~\n', latin: 'é', chinese: '中a', emoji: '😀', mixed: 'aé中😀\ufffd' }

for (const [name, unit] of Object.entries(TEXTS)) {
  test(`a long text arrives unchanged: ${name}`, async (t) => {
    const { database } = await testDatabase(t)

    const rows = await database.query<{ n: number; text: string }>(
      `select n, repeat($1, 10000 * n) as text from generate_series(1, 30, 7) as n order by n`,
      [unit],
    )

    assert.deepEqual(
      rows.map(({ n }) => n),
      [1, 8, 15, 22, 29],
    )
    for (const { n, text } of rows) assert(text === unit.repeat(10_000 * n), `${n}`)
  })
}

test('a long text is not decoded by Buffer.toString', async (t) => {
  const { database } = await testDatabase(t)
  const encodings: (string | undefined)[] = []
  const { toString } = Buffer.prototype
  t.mock.method(Buffer.prototype, 'toString', function (this: Buffer, encoding?: BufferEncoding, ...range: number[]) {
    const text = toString.call(this, encoding, ...range)
    if (text.length >= 500_000) encodings.push(encoding)
    return text
  })

  await database.query(`select repeat('中', 500000) as text`)

  assert.deepEqual(encodings, ['utf16le'])
})
